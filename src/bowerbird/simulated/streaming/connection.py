"""A stream of a simulated service in process: the `Connection` of a reader, in real and in virtual time."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Sequence
from datetime import datetime, timedelta

from bowerbird.model import Ended, Wire
from bowerbird.ports import Clock
from bowerbird.simulated.feeds import Sent
from bowerbird.simulated.streaming.live import BROKEN, PING, Live


class InProcessConnection:
    """Asks the service when something is due. Who does not receive does not ask: that is how he falls behind."""

    def __init__(self, live: Live, clock: Clock, way: timedelta) -> None:
        self._live = live
        self._clock = clock
        self._way = way
        self._cutter = _Cutter(live.wire)
        self._again_at = clock.now()
        self._ping_at = clock.now() + PING
        self._pending: list[bytes] = []
        self._ended: Ended | None = None
        self._stirred = Event()

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        while True:
            self._ask(self._clock.now())
            if self._pending:
                # Taken out after the way, not before: a reader who gives up on it loses nothing.
                await self._clock.sleep_until(self._clock.now() + self._way)
                messages, self._pending = self._pending, []
                return messages
            if self._ended is not None:
                return self._ended
            if self._clock.now() >= until:
                return ()
            self._stirred.clear()
            await self._clock.wait(self._stirred, min(until, self._next()))

    async def send(self, message: bytes) -> None:
        if self._ended is None:
            self._take(self._live.receive(message, self._clock.now()))
            self._stirred.set()

    async def close(self) -> None:
        self._end(Ended("closed by us"))
        self._stirred.set()

    def _ask(self, now: datetime) -> None:
        if self._ended is None and now >= self._again_at:
            self._again_at = now + PING
            self._take(self._live.due(now))
        if self._ended is None and now >= self._ping_at:
            self._ping_at = now + PING
            if self._live.wire is Wire.WEBSOCKET and not self._live.is_silent:
                self._pending.append(b"")

    def _next(self) -> datetime:
        return min(self._again_at, self._ping_at)

    def _take(self, sent: Sent) -> None:
        self._pending += self._cutter.cut(sent.frames)
        if sent.again_at is not None:
            self._again_at = sent.again_at
        if sent.close is not None:
            code, reason = sent.close
            self._end(Ended("the connection broke" if code == BROKEN else reason, code))

    def _end(self, ended: Ended) -> None:
        if self._ended is None:
            self._ended = ended
            self._live.end()


class _Cutter:
    """Cuts what was written into messages; what is torn off at the end of the connection never becomes one."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._rest = b""
        self._event: list[bytes] = []

    def cut(self, frames: Sequence[bytes]) -> list[bytes]:
        if self._wire is Wire.WEBSOCKET:
            return list(frames)
        *lines, self._rest = (self._rest + b"".join(frames)).split(b"\n")
        lines = [line.removesuffix(b"\r") for line in lines]
        return lines if self._wire is Wire.LINES else [message for line in lines for message in self._events(line)]

    def _events(self, line: bytes) -> list[bytes]:
        """An event ends with an empty line; a comment is only a sign of life."""
        if line.startswith(b":"):
            return [b""]
        if line:
            self._event.append(line)
            return []
        event, self._event = self._event, []
        return [b"\n".join(event)] if event else []
