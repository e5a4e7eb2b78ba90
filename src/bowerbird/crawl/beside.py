"""What runs beside the loop of calls: streams, scheduled backups, downloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bowerbird.crawl.dispatcher import Dispatcher, Parts
from bowerbird.crawl.files.crawl_file import CrawlPlan
from bowerbird.crawl.keeping import Keeper, Turns
from bowerbird.crawl.media import Collector
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.supervisor import Part
from bowerbird.crawl.tally import Tally
from bowerbird.errors import UserError
from bowerbird.ports import MediaTransport, StreamTransport, Transport


def stream_parts(
    streams: Iterable[Stream], parts: Parts, transport: Transport, dispatcher: Dispatcher, tally: Tally
) -> list[Part]:
    """One part for each stream of the crawl."""
    beside: list[Part] = []
    for stream in streams:
        if not isinstance(transport, StreamTransport):
            raise UserError("this transport cannot hold a connection open, so the crawl's streams cannot be heard")
        beside.append(Streamer(parts, transport, dispatcher, stream, tally).part())
    return beside


def keeping_parts(plan: CrawlPlan, parts: Parts, media: MediaTransport | None, me: Callable[[], int]) -> list[Part]:
    """Scheduled backups and downloads, as far as the plan wants them."""
    beside: list[Part] = []
    if plan.backup is not None:
        turns = Turns(parts.database, plan.name, me, plan.backup.every, parts.clock)
        beside.append(Part(name="backup", run=Keeper(plan.name, plan.store, plan.backup, parts.clock, turns).run))
    if plan.media is not None and media is not None:
        collector = Collector(parts.database, parts.clock, media, plan.media, me)
        beside.append(Part(name="media", run=collector.run, end=collector.end, finish=collector.finish))
    return beside
