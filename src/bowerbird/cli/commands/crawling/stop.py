"""`bowerbird stop`: let a running crawl finish what is in flight and end."""

from __future__ import annotations

from bowerbird.cli.controls import Control, WorkerOption, control, part_of
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, StoreArgument
from bowerbird.model import CrawlState


def command(
    place: StoreArgument = None, crawl: CrawlOption = None, worker: WorkerOption = None, as_json: JsonFlag = False
) -> None:
    """Let a running crawl, or one of its workers, finish what is in flight and end."""
    part = part_of(None, worker)
    done = "is to stop" if part is not None else "has stopped"
    control(Control(CrawlState.STOPPED, "stop", done, part), place, crawl, Output(as_json=as_json))
