"""bowerbird: a crawler for microblogs that plans, remembers and survives.

From Python: `bowerbird.open`, `bowerbird.make_plan`, `bowerbird.read_plan`, `bowerbird.run`, and the words of a flow
(docs/python.md). They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bowerbird.api import (
        CrawlPlan,
        Edge,
        FacetUse,
        Filters,
        Flow,
        Limits,
        Result,
        Stop,
        StoredData,
        make_example,
        make_plan,
        read_plan,
        run,
    )
    from bowerbird.api import open as open  # noqa: A004 - `bowerbird.open(path)` is what people expect

__version__ = "0.1.0"
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
    "__version__",
    "make_example",
    "make_plan",
    "open",
    "read_plan",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bowerbird' has no attribute {name!r}")
    from bowerbird import api

    return getattr(api, name)
