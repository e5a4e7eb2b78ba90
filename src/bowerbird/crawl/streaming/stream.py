"""One subscription of one crawl on one service, with everything a connection of it needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field, structs

from bowerbird.model import Channel, Charge, Facet, Service, Subscription
from bowerbird.ports import Seeder, Sieve
from bowerbird.providers.base import Provider

_SECONDS = 2
"""How far what is booked may lag behind what is billed, on a busy machine."""
_SECOND = timedelta(seconds=1)
_HALF_LIFE = timedelta(minutes=10)
"""In which a burst that does not come again loses half its weight."""


class Pace:
    """How much a stream brings in its busiest second: where each post costs, so much must be set aside while it is open."""

    def __init__(self) -> None:
        self._recent: deque[tuple[datetime, int]] = deque()
        self._most = 0.0
        self._at: datetime | None = None

    @property
    def busiest(self) -> int:
        """The most that came within one second, not long ago."""
        return round(self._most)

    def recall(self, busiest: int) -> None:
        """Begins with what is known from before, whoever listened then."""
        self._most = max(self._most, float(busiest))

    def heard(self, results: int, at: datetime) -> None:
        self._recent.append((at, results))
        while at - self._recent[0][0] >= _SECOND:
            self._recent.popleft()
        passed = max(at - self._at, timedelta(0)) if self._at is not None else timedelta(0)
        self._at = at
        self._most = max(self._most * 0.5 ** (passed / _HALF_LIFE), float(sum(count for _, count in self._recent)))


class StreamKey(Struct, frozen=True):
    """One way to open a stream: as whom, and what a connection then takes from each bucket."""

    credential: str | None = None
    charges: tuple[Charge, ...] = ()
    changes: tuple[Charge, ...] = ()
    """What a change takes that is asked of the service while a connection is open."""


class KeyRotation:
    """Whom a stream is opened as: one of those that may, until the service refuses it."""

    def __init__(self, keys: Sequence[StreamKey] = (StreamKey(),)) -> None:
        self._keys = tuple(keys)
        self._place = 0

    @property
    def current(self) -> StreamKey:
        return self._keys[self._place]

    @property
    def names(self) -> list[str | None]:
        """All that may open it."""
        return [key.credential for key in self._keys]

    def turn(self) -> bool:
        """Leaves the current one for the next; False when all had their turn, and it is that of the first again."""
        self._place = (self._place + 1) % len(self._keys)
        return self._place > 0


class Tuning:
    """What a stream hears now; a change takes effect at one moment, between two messages."""

    def __init__(self, wanted: Subscription) -> None:
        self.wanted = wanted


class Stream(Struct, frozen=True, kw_only=True):
    """What a streamer listens to; `stream` is its number in the database, `lane` that of the channel's calls."""

    stream: int
    crawl: int
    me: Callable[[], int]
    """The number of this worker, as it is now."""
    lane: int
    tuning: Tuning
    service: Service
    """Whose items it brings."""
    host: Service
    """The same service as the connection reaches it: many networks stream from another host than they answer from."""
    provider: Provider
    seeder: Seeder
    keys: KeyRotation
    pace: Pace = field(default_factory=Pace)
    sieve: Sieve | None = None
    """Chooses what is saved of what it brings; None: everything."""

    @property
    def credential(self) -> str | None:
        """Whom it is opened as now."""
        return self.keys.current.credential

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What opening a connection takes from each bucket. Where each post costs money, at least two busy seconds: one for what
        a killed worker had not booked, one for posts under way when the stream hangs up."""
        return tuple(_at_least(charge, self.pace.busiest) for charge in self.keys.current.charges)

    def needs(self) -> tuple[Charge, ...]:
        """The same, for those who ask again and again."""
        return self.charges

    @property
    def changes(self) -> tuple[Charge, ...]:
        """What a change of the rules of an open connection takes from each bucket."""
        return self.keys.current.changes

    @property
    def wanted(self) -> Subscription:
        return self.tuning.wanted

    @property
    def channel(self) -> Channel:
        return self.provider.channels[self.wanted.channel]

    @property
    def facet(self) -> Facet:
        return self.channel.facet

    @property
    def name(self) -> str:
        return self.wanted.name or self.wanted.channel

    def kept_cursor(self, cursor: str | None) -> str | None:
        """The cursor as it is saved: with its host, where it means nothing to any other."""
        return f"{cursor} {self.host.base}" if cursor is not None and self.channel.is_bound else cursor

    def own_cursor(self, kept: str | None) -> str | None:
        """The saved cursor as this host gave it; None where another did."""
        cursor, _, host = (kept or "").partition(" ")
        return cursor if cursor and host in ("", self.host.base) else None

    def other_host(self, kept: str | None) -> str:
        """The host whose cursor was saved, if it is not this one."""
        return "" if kept is None or self.own_cursor(kept) is not None else kept.partition(" ")[2]


def _at_least(charge: Charge, busiest: int) -> Charge:
    # Not more than there can ever be: whoever has it all may try.
    least = min(_SECONDS * busiest * charge.limit.per_result, charge.limit.allowance)
    return charge if charge.amount >= least else structs.replace(charge, amount=least)
