"""bowerbird from Python: open a store, define and run a flow, read results. `import bowerbird` offers the same names."""

from __future__ import annotations

from bowerbird.api.crawling import Limits, Result, make_plan, read_plan, run
from bowerbird.api.examples import make_example
from bowerbird.api.stores import StoredData
from bowerbird.api.stores import open_store as open  # noqa: A004 - `bowerbird.open(path)` is what people expect
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.flow import Edge, FacetUse, Filters, Flow, Stop

__all__ = [
    "CrawlPlan",
    "Edge",
    "FacetUse",
    "Filters",
    "Flow",
    "Limits",
    "Result",
    "Stop",
    "StoredData",
    "make_example",
    "make_plan",
    "open",
    "read_plan",
    "run",
]
