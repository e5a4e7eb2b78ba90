"""Everything that happens in the world, in the order of time: what a stream has to tell."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.passing.calendar import Calendar
from bowerbird.simulated.world.passing.doings import Columns, Doings, Kind, joined
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.settings import DAY, WorldSettings

__all__ = ["Chronicle", "Happening", "Kind"]

_KEPT_DAYS = 4


class Happening(Struct, frozen=True, gc=False):
    """One thing that an account does or that befalls it."""

    ms: int
    kind: Kind
    account: int
    number: int
    """The post written, edited, deleted or liked; the follow's rank; the profile's version; else 0."""
    other: int
    """The account followed or no longer followed; of something written the post it refers to (0: none); else -1."""
    place: int
    """How many happenings of the same millisecond come before it."""


class Chronicle:
    """Happenings by stretches of time: the same stretch gives the same, whatever was asked before."""

    def __init__(self, settings: WorldSettings, calendar: Calendar, doings: Doings) -> None:
        self._start_ms = settings.start_ms
        self._calendar = calendar
        self._doings = doings
        self._lasting: Columns | None = None
        self._days: OrderedDict[int, tuple[Columns, Array]] = OrderedDict()

    def between(self, after: int, until: int) -> list[Happening]:
        """All with `after < ms <= until`; the world's stream begins with its first day."""
        found: list[Happening] = []
        for index in range(self._first(after), self._calendar.index(until) + 1):
            columns, place = self._day(index)
            low, high = (int(each) for each in np.searchsorted(columns.ms, [after, until], side="right"))
            part = columns.where(slice(low, high))
            values = (part.ms, part.kind, part.account, part.number, part.other, place[low:high])
            rows = zip(*(each.tolist() for each in values), strict=True)
            found += [Happening(ms, _KINDS[kind], *rest) for ms, kind, *rest in rows]
        return found

    def next_after(self, after: int, until: int) -> int | None:
        """The time of the first happening with `after < ms <= until`."""
        for index in range(self._first(after), self._calendar.index(until) + 1):
            times = self._day(index)[0].ms
            low = int(np.searchsorted(times, after, side="right"))
            if low < len(times):
                return int(times[low]) if times[low] <= until else None
        return None

    def _first(self, after: int) -> int:
        return max(self._calendar.index(after + 1), self._calendar.first)

    def _day(self, index: int) -> tuple[Columns, Array]:
        """A day's happenings in order, and the place of each within its millisecond."""
        known = self._days.get(index)
        if known is None:
            columns = joined([self._of_all_time(index), *self._doings.day(index)]).sorted()
            known = columns, np.arange(len(columns.ms)) - np.searchsorted(columns.ms, columns.ms)
            self._days[index] = known
            if len(self._days) > _KEPT_DAYS:
                self._days.popitem(last=False)
        else:
            self._days.move_to_end(index)
        return known

    def _of_all_time(self, index: int) -> Columns:
        if self._lasting is None:
            self._lasting = self._doings.lasting()
        start = self._start_ms + index * DAY
        low, high = np.searchsorted(self._lasting.ms, [start, start + DAY])
        return self._lasting.where(slice(int(low), int(high)))


_KINDS = tuple(Kind)
