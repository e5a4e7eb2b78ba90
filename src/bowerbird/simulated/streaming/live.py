"""One open connection as it leaves the service: a dialect's feed with the faults it is to meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from bowerbird.model import Wire
from bowerbird.simulated.faults import NO_STREAM, Faults
from bowerbird.simulated.feeds import HEARTBEAT, Feed, Sent

PING = timedelta(seconds=20)
"""How often a service pings on a WebSocket."""
BROKEN = 0
"""The close code of a connection that just breaks."""
_GARBAGE = {
    Wire.WEBSOCKET: b"\x00\xffnot a message",
    Wire.EVENTS: b"event: update\ndata: {not a message\n\n",
    Wire.LINES: b"{not a message\r\n",
}


class Live:
    """Passes on what the feed sends, in the clock's true time; the same seed disturbs the same messages."""

    def __init__(self, feed: Feed, faults: Faults, connection: int, met: Counter[str]) -> None:
        self.wire = feed.wire
        self.headers = feed.headers
        self.is_text = feed.is_text
        self.is_silent = False
        """Not even pings go out any more."""
        self._feed = feed
        self._faults = faults
        self._connection = connection
        self._met = met
        self._sent = 0
        self._held = b""

    def due(self, now: datetime) -> Sent:
        """What is due by now; a close with code `BROKEN` is a connection that breaks."""
        now += self._faults.skew
        outage = self._faults.outage(now)
        if outage is not None and outage.kind in NO_STREAM:
            return Sent(close=(BROKEN, "the service is out"))
        if self.is_silent:
            return Sent(again_at=now - self._faults.skew + HEARTBEAT)
        return self._disturbed(self._feed.due(now), now)

    def receive(self, message: bytes, now: datetime) -> Sent:
        now += self._faults.skew
        return Sent() if self.is_silent else self._disturbed(self._feed.receive(message, now), now)

    def end(self) -> None:
        self._feed.end()

    def _disturbed(self, sent: Sent, now: datetime) -> Sent:
        frames: list[bytes] = []
        for frame in sent.frames:
            frames += self._frames(frame)
            self._sent += 1
            if self._meets("stream_cut"):
                return Sent((*frames, *self._released(), *self._torn(frame)), close=(BROKEN, "cut"))
            if self._meets("stream_silence"):
                self.is_silent = True
                return Sent((*frames, *self._released()), now - self._faults.skew + HEARTBEAT)
        if sent.close is not None:
            frames += self._released()
        again_at = None if sent.again_at is None else min(sent.again_at, self._next_outage(now)) - self._faults.skew
        return Sent(tuple(frames), again_at, sent.close)

    def _frames(self, frame: bytes) -> Iterator[bytes]:
        """A message with whatever is put before it, after it or instead of it."""
        if self._held:
            yield frame
            yield from self._released()
            return
        if self.wire is Wire.LINES and frame.strip() and self._meets("stream_disorder"):
            self._held = frame
            return
        if self._meets("stream_garbage"):
            yield _GARBAGE[self.wire]
        yield frame
        if self._meets("stream_duplicate"):
            yield frame

    def _released(self) -> Iterator[bytes]:
        """What was held back to come late; no message is ever lost by coming late."""
        if self._held:
            held, self._held = self._held, b""
            yield held

    def _torn(self, frame: bytes) -> tuple[bytes, ...]:
        torn = frame[: len(frame) // 2].rstrip(b"\r\n")
        return (torn,) if torn and self.wire is not Wire.WEBSOCKET else ()

    def _meets(self, kind: str) -> bool:
        is_hit = self._faults.hits(kind, self._connection, self._sent)
        self._met[kind] += is_hit
        return is_hit

    def _next_outage(self, now: datetime) -> datetime:
        return min(
            (outage.since for outage in self._faults.outages if outage.since > now),
            default=datetime.max.replace(tzinfo=now.tzinfo),
        )
