"""The streams of a crawl as parts of the process that holds them."""

from __future__ import annotations

from collections.abc import Iterable

from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.work.dispatcher import Dispatcher, Parts
from bowerbird.errors import UserError
from bowerbird.ports import Part, StreamTransport, Transport


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
