"""The zstd dictionary of this world's messages: trained once from its own records, so it is the same for the same world."""

from __future__ import annotations

from functools import cached_property

import zstandard

from bowerbird.simulated.bluesky.streams.events import Events
from bowerbird.simulated.bluesky.streams.spelling import message
from bowerbird.simulated.world.settings import DAY

_SIZE = 16_384
_SAMPLES = 2_000
_FIRST_ID = 32_768
"""Smaller ids are reserved by the format."""


class Packing:
    """Compresses messages one by one."""

    def __init__(self, events: Events) -> None:
        self._events = events

    @property
    def id(self) -> int:
        """The dictionary's own id: it differs between worlds."""
        return _FIRST_ID + self._events.world.settings.seed % 1_000_000

    @cached_property
    def dictionary(self) -> bytes:
        world, samples = self._events.world, list[bytes | bytearray | memoryview]()
        for start in range(world.warm_ms, world.warm_ms + DAY, DAY // 24):
            events = (event for happening in world.happenings(start, start + DAY // 24) for event in self._events.of(happening))
            samples += [message(event) for event in events]
            if len(samples) >= _SAMPLES:
                break
        return zstandard.train_dictionary(_SIZE, samples[:_SAMPLES], dict_id=self.id, k=512, d=8).as_bytes()

    def pack(self, frame: bytes) -> bytes:
        return self._compressor.compress(frame)

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        return zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(self.dictionary))
