"""`bowerbird resume`: let a paused crawl go on."""

from __future__ import annotations

from bowerbird.cli.controls import Control, FacetOption, WorkerOption, control, part_of
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, StoreArgument
from bowerbird.model import CrawlState


def command(
    place: StoreArgument = None,
    crawl: CrawlOption = None,
    facet: FacetOption = None,
    worker: WorkerOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Let a paused crawl, facet or worker go on."""
    wish = Control(CrawlState.RUNNING, "resume", "goes on", part_of(facet, worker))
    control(wish, place, crawl, Output(as_json=as_json))
