"""`bowerbird resume`: let a paused crawl go on."""

from __future__ import annotations

from bowerbird.cli.controls import Control, control
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, PlaceArgument
from bowerbird.model import CrawlState


def command(place: PlaceArgument = None, crawl: CrawlOption = None, as_json: JsonFlag = False) -> None:
    """Let a paused crawl go on."""
    control(Control(CrawlState.RUNNING, "resume", "goes on"), place, crawl, Output(as_json=as_json))
