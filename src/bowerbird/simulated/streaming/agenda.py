"""When a service tells what happened: not always at once, nor always in order, sometimes twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from heapq import heappop, heappush

from bowerbird.simulated.feeds import PULSE
from bowerbird.simulated.world import Happening, Kind, World
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.settings import to_ms

_STRETCH = 60_000
"""How much of the world's time is looked through at once, at least, in ms."""

_DELAY = 400
"""From the deed to the stream, in ms."""
_SOON = 300_000
"""A deletion may overtake the post if it comes within so many ms."""
_ONE_IN = 4
LATEST = _SOON + 4 * _DELAY


class Agenda:
    """The happenings that one connection tells, by the time of telling; the same times for every connection."""

    def __init__(self, world: World, after: int, told_at: Callable[[Happening], Sequence[int]], latest: int) -> None:
        """`told_at`: at which times (ms) something is told, if at all, never more than `latest` ms after it happened."""
        self._world = world
        self._after = after
        self._told_at = told_at
        self._seen = after - latest
        self._coming: list[tuple[int, int, Happening]] = []
        self._serial = 0

    def take(self, now: datetime) -> list[Happening]:
        """What has become due since the last time, in the order of telling."""
        until = to_ms(self._world.settings.moment(now))
        self._look_ahead(until)
        found: list[Happening] = []
        while self._coming and self._coming[0][0] <= until:
            found.append(heappop(self._coming)[2])
        return found

    def again_at(self, now: datetime, beat: datetime) -> datetime:
        """When something is due again: the next happening by the clock, or the heartbeat at `beat` if that is sooner."""
        settings = self._world.settings
        self._look_ahead(to_ms(settings.moment(beat)))
        shown = settings.shown_at(self._coming[0][0]) if self._coming else None
        return beat if shown is None else min(max(shown, now + PULSE), max(beat, now + PULSE))

    def _look_ahead(self, until: int) -> None:
        if until <= self._seen:
            return
        stop = max(until, self._seen + _STRETCH)
        for happening in self._world.happenings(self._seen, stop):
            for at in self._told_at(happening):
                if at > self._after:
                    heappush(self._coming, (at, self._serial, happening))
                    self._serial += 1
        self._seen = stop


def in_order(world: World, kinds: frozenset[Kind]) -> Callable[[Happening], Sequence[int]]:
    """Tells everything of these kinds in order, except that of the posts deleted soon some come only after their deletion."""

    def told_at(happening: Happening) -> tuple[int, ...]:
        if happening.kind not in kinds:
            return ()
        if happening.kind is Kind.WRITTEN and mix(happening.number, 61) % _ONE_IN == 0:
            row = world.row(happening.number, happening.ms)
            if row is not None and row.gone_at - row.ms < _SOON:
                return (row.gone_at + 4 * _DELAY,)
        return (happening.ms + _DELAY,)

    return told_at
