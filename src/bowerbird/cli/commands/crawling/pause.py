"""`bowerbird pause`: let a running crawl finish what is in flight and wait."""

from __future__ import annotations

from bowerbird.cli.controls import Control, control
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, PlaceArgument
from bowerbird.model import CrawlState


def command(place: PlaceArgument = None, crawl: CrawlOption = None, as_json: JsonFlag = False) -> None:
    """Let a running crawl finish what is in flight and wait."""
    wish = Control(CrawlState.PAUSED, "pause", "is paused: nothing is asked until `bowerbird resume`")
    control(wish, place, crawl, Output(as_json=as_json))
