"""The firehose, `com.atproto.sync.subscribeRepos`: every event as CBOR, by its number."""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.model import Wire
from bowerbird.simulated.bluesky.streams.events import Event, Events, Reel
from bowerbird.simulated.bluesky.streams.spelling import error, frame
from bowerbird.simulated.feeds import Sent
from bowerbird.simulated.world.hashing import mix, unit

WINDOW = timedelta(hours=24)
_BUFFER = 500


class FirehoseFeed:
    """One connection; `opening` is said first, and an error closes it."""

    wire = Wire.WEBSOCKET
    is_text = False

    def __init__(self, events: Events, start: int, oversized: float, opening: bytes = b"") -> None:
        self.headers: dict[str, str] = {}
        self._reel = Reel(events, start, _BUFFER)
        self._oversized = oversized
        self._opening = opening

    def due(self, now: datetime) -> Sent:
        frames = [self._frame(event) for event in self._reel.read(now)]
        if self._reel.is_behind:
            return Sent((error("ConsumerTooSlow", "Stream consumer too slow"),), close=(1008, "ConsumerTooSlow"))
        if self._opening:
            frames.insert(0, self._opening)
            self._opening = b""
        return Sent(tuple(frames), self._reel.again_at(now))

    def receive(self, message: bytes, now: datetime) -> Sent:
        """What a client says is ignored."""
        return Sent()

    def end(self) -> None:
        """Nothing is held."""

    def _frame(self, event: Event) -> bytes:
        is_oversized = event.kind == "commit" and unit(mix(event.seq, 81)) < self._oversized
        return frame(event, is_oversized=is_oversized)


class ClosingFeed:
    """A connection that is opened only to say why it is closed."""

    wire = Wire.WEBSOCKET
    is_text = False

    def __init__(self, last: bytes, reason: str) -> None:
        self.headers: dict[str, str] = {}
        self._sent = Sent((last,), close=(1008, reason))

    def due(self, now: datetime) -> Sent:
        return self._sent

    def receive(self, message: bytes, now: datetime) -> Sent:
        return Sent()

    def end(self) -> None:
        """Nothing is held."""
