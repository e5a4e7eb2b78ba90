"""The streams of a crawl as parts of the process that holds them."""

from __future__ import annotations

from collections.abc import Iterable

from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.ports import Part


def stream_parts(streams: Iterable[Stream], hearing: Hearing) -> list[Part]:
    """One part for each stream of the crawl."""
    return [Streamer(hearing, stream).part() for stream in streams]
