"""Jetstream, both wires: filters, cursors, compression, and what the client may say."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from bowerbird.model import Wire
from bowerbird.simulated.bluesky.streams.compression import Packing
from bowerbird.simulated.bluesky.streams.events import Event, Events, Reel
from bowerbird.simulated.bluesky.streams.filters import Filter, InvalidError, read_filter
from bowerbird.simulated.bluesky.streams.spelling import error_v2, message, message_v2
from bowerbird.simulated.feeds import HEARTBEAT, Sent

WINDOW = timedelta(hours=36)
FIRST_TIME = 10**15
"""A cursor below it is a sequence number, any other a time in microseconds."""
_BUFFER = 5_000
_LARGEST_WISH = 10_000_000


class JetstreamFeed:
    """One connection to the first Jetstream."""

    wire = Wire.WEBSOCKET

    def __init__(self, events: Events, wanted: Filter, start: int, packing: Packing | None) -> None:
        self.headers: dict[str, str] = {}
        self.is_text = packing is None
        self._events = events
        self._wanted = wanted
        self._packing = packing
        self._reel = Reel(events, start, _BUFFER)
        self.waits = False
        """Nothing is sent before the client has said what it wants."""

    def due(self, now: datetime) -> Sent:
        if self.waits:
            return Sent(again_at=now + HEARTBEAT)
        frames = (self._spell(event) for event in self._reel.read(now) if self._passes(event))
        return Sent(self._packed([frame for frame in frames if self._wanted.fits(frame)]), self._reel.again_at(now))

    def receive(self, message: bytes, now: datetime) -> Sent:
        if len(message) > _LARGEST_WISH:
            return Sent(close=(1009, "message too large"))
        try:
            wish = msgspec.json.decode(message, type=_Message)
            if wish.type != "options_update":
                return Sent()
            self._wanted = _wanted(msgspec.json.decode(wish.payload, type=_Options))
        except InvalidError as problem:
            return Sent(close=(1008, str(problem)))
        except msgspec.DecodeError:
            return Sent(close=(1007, "invalid message"))
        self.waits = False
        return Sent(again_at=now)

    def end(self) -> None:
        """Nothing is held."""

    def _passes(self, event: Event) -> bool:
        return event.kind != "sync" and self._wanted.passes(event)

    def _spell(self, event: Event) -> bytes:
        return message(event)

    def _packed(self, frames: list[bytes]) -> tuple[bytes, ...]:
        return tuple(frames) if self._packing is None else tuple(map(self._packing.pack, frames))


class JetstreamV2Feed(JetstreamFeed):
    """One connection to the second Jetstream: everything from one cursor, notices, and no word from the client."""

    def __init__(self, events: Events, wanted: Filter, start: int, packing: Packing | None, notice: bytes) -> None:
        super().__init__(events, wanted, start, packing)
        self._notice = notice

    def due(self, now: datetime) -> Sent:
        sent = super().due(now)
        if self._reel.is_behind:
            return Sent(self._packed([error_v2("ConsumerTooSlow", "Consumer is too slow")]), close=(1008, "ConsumerTooSlow"))
        if self._notice:
            sent = Sent((*self._packed([self._notice]), *sent.frames), sent.again_at)
            self._notice = b""
        return sent

    def receive(self, message: bytes, now: datetime) -> Sent:
        return Sent(close=(1008, "client data frames are not allowed"))

    def _passes(self, event: Event) -> bool:
        return self._wanted.passes(event)

    def _spell(self, event: Event) -> bytes:
        return message_v2(event)


class _Message(msgspec.Struct):
    type: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class _Options(msgspec.Struct, rename="camel"):
    wanted_collections: list[str] | None = None
    wanted_dids: list[str] | None = None
    max_message_size_bytes: Any = 0


def _wanted(options: _Options) -> Filter:
    largest = options.max_message_size_bytes
    size = largest if isinstance(largest, int) and largest > 0 else 0
    return read_filter(options.wanted_collections or [], options.wanted_dids or [], size)
