"""`bowerbird pause`: let a running crawl finish what is in flight and wait."""

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
    """Let a running crawl, one facet of it or one of its workers finish what is in flight and wait."""
    done = "is paused: nothing is asked until `bowerbird resume`"
    wish = Control(CrawlState.PAUSED, "pause", done, part_of(facet, worker))
    control(wish, place, crawl, Output(as_json=as_json))
