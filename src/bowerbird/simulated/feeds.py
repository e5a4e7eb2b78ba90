"""The seam of the simulated streams: what a dialect tells on one open connection, asked at given times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from bowerbird.model import Wire
from bowerbird.simulated.world import Happening, World
from bowerbird.simulated.world.settings import to_ms

PULSE = timedelta(milliseconds=20)
"""A service sends what has gathered in so long at once, rather than wake up for every single happening."""
HEARTBEAT = timedelta(seconds=15)
_MOST = 1_000
_STRETCH = 600_000
"""How much of the world's time is looked through at once when a connection catches up, in ms."""


class Sent(Struct, frozen=True):
    """What the service sends now: frames, when to ask it again, and whether that was the end."""

    frames: tuple[bytes, ...] = ()
    again_at: datetime | None = None
    """When to ask again, never later than the next heartbeat; None leaves it as it was."""
    close: tuple[int, str] | None = None
    """Ends the connection after the frames, with this code (WebSocket) and reason."""


class Feed(Protocol):
    """One open connection as the service sees it. Over lines and events a frame is what is written, ends of line included."""

    wire: Wire
    headers: dict[str, str]
    is_text: bool
    """WebSocket messages are text, else binary."""

    def due(self, now: datetime) -> Sent:
        """Everything that is due by now."""
        ...

    def receive(self, message: bytes, now: datetime) -> Sent:
        """What to say to something the client sent."""
        ...

    def end(self) -> None:
        """The connection is over, whoever ended it: a place that was taken is free again."""
        ...


class Tape:
    """The world's happenings in order, each once, played as far as the clock has come."""

    def __init__(self, world: World, after_ms: int) -> None:
        self._world = world
        self._read = after_ms

    def read(self, now: datetime, most: int = _MOST) -> list[Happening]:
        """What has happened since the last reading; at least `most` and not much more if there is more to catch up with."""
        until, found = to_ms(self._world.settings.moment(now)), list[Happening]()
        while self._read < until and len(found) < most:
            stop = min(until, self._read + _STRETCH)
            found += self._world.happenings(self._read, stop)
            self._read = stop
        return found

    def is_live(self, now: datetime) -> bool:
        """Everything up to now has been read."""
        return self._read >= to_ms(self._world.settings.moment(now))

    def again_at(self, now: datetime, heartbeat: timedelta = HEARTBEAT) -> datetime:
        """When the clock shows the next happening, or the heartbeat is due if that is sooner."""
        if not self.is_live(now):
            return now
        settings = self._world.settings
        coming = self._world.next_happening(self._read, to_ms(settings.moment(now + heartbeat)))
        shown = settings.shown_at(coming) if coming is not None else None
        return now + heartbeat if shown is None else min(max(shown, now + PULSE), now + heartbeat)
