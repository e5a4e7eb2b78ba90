"""The server's side of rate limits: counts requests in windows and refuses what is too much.

A request names every throttle it falls under and, for each, on whose account (token, user, address) it goes. It counts in all of
them or, if one is exhausted, in none. Windows are counted in whole seconds as the real servers do,
so a reset is a whole second too.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.model import WindowKind

_SECOND = 1_000_000


class Throttle(Struct, frozen=True, gc=False):
    """One limit as the server has it: so many requests per window and account."""

    name: str
    allowance: int
    window: timedelta
    kind: WindowKind = WindowKind.ALIGNED


class Verdict(Struct, frozen=True, gc=False):
    """What the server decided, with the numbers of the tightest throttle (or of the exhausted one)."""

    is_allowed: bool
    limit: int
    remaining: int
    reset_at: datetime
    name: str = ""


class Window(Struct, frozen=True, gc=False):
    """The use of one window of one throttle by one account."""

    name: str
    who: str
    starts_at: datetime
    ends_at: datetime
    allowance: int
    used: int
    refused: int


class _Count(Struct, gc=False):
    start: int
    end: int
    allowance: int
    used: int = 0
    refused: int = 0


class Limiter:
    """Counts requests per throttle, account and window; remembers up to `keep` ended windows for audits."""

    def __init__(self, keep: int | None = None) -> None:
        self.refused = 0
        self._now: dict[tuple[str, str], _Count] = {}
        self._ended: deque[Window] = deque(maxlen=keep)
        self._used: Counter[str] = Counter()

    def spend(self, charges: Sequence[tuple[Throttle, str]], now: datetime) -> Verdict:
        """Counts one request in every throttle, or refuses it and counts it in none."""
        micros = to_micros(now)
        counts = [self._count(throttle, who, micros) for throttle, who in charges]
        worst = min(range(len(counts)), key=lambda i: (_left(counts[i]), -counts[i].end))
        if _left(counts[worst]) <= 0:
            self.refused += 1
            counts[worst].refused += 1
            return _verdict(False, charges[worst][0], counts[worst])
        for (throttle, _), count in zip(charges, counts, strict=True):
            count.used += 1
            self._used[throttle.name] += 1
        return _verdict(True, charges[worst][0], counts[worst])

    def look(self, throttle: Throttle, who: str, now: datetime) -> Verdict:
        """The state of one throttle for one account, without spending anything."""
        micros = to_micros(now)
        count = self._now.get((throttle.name, who))
        if count is None or micros >= count.end:
            count = _open(throttle, micros)
        return _verdict(_left(count) > 0, throttle, count)

    def used(self, name: str) -> int:
        """Requests counted in the throttle of this name, over all accounts and windows."""
        return self._used[name]

    def windows(self, name: str | None = None) -> Iterator[Window]:
        """Every window in which somebody called, ended ones first."""
        running = (_ended(name, who, count) for (name, who), count in self._now.items())
        return (window for part in (self._ended, running) for window in part if name in (None, window.name))

    def _count(self, throttle: Throttle, who: str, micros: int) -> _Count:
        key = (throttle.name, who)
        count = self._now.get(key)
        if count is None or micros >= count.end:
            if count is not None:
                self._ended.append(_ended(throttle.name, who, count))
            count = self._now[key] = _open(throttle, micros)
        return count


def _left(count: _Count) -> int:
    return count.allowance - count.used


def _verdict(is_allowed: bool, throttle: Throttle, count: _Count) -> Verdict:
    return Verdict(is_allowed, throttle.allowance, max(0, _left(count)), from_micros(count.end), throttle.name)


def _ended(name: str, who: str, count: _Count) -> Window:
    return Window(name, who, from_micros(count.start), from_micros(count.end), count.allowance, count.used, count.refused)


def _open(throttle: Throttle, micros: int) -> _Count:
    start, end = _bounds(throttle, micros)
    return _Count(start, end, throttle.allowance)


def _bounds(throttle: Throttle, micros: int) -> tuple[int, int]:
    if throttle.kind is WindowKind.MONTH:
        return _month(from_micros(micros))
    length = throttle.window // timedelta(microseconds=1)
    if throttle.kind is WindowKind.ALIGNED:
        start = micros - micros % length
    else:
        # A server that answers with whole epoch seconds keeps its windows in whole seconds.
        start = micros - micros % _SECOND if length > _SECOND else micros
    return start, start + length


def _month(now: datetime) -> tuple[int, int]:
    start = datetime(now.year, now.month, 1, tzinfo=UTC)
    end = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
    return to_micros(start), to_micros(end)
