"""When something about an account changes next: what it writes, deletes, gets, and what becomes of it.

So that an answer may be kept as long as it would be the same: most profiles are asked for far more often than they change.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from bowerbird.simulated.world.passing.calendar import Calendar
from bowerbird.simulated.world.people.graph import FollowGraph
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.people.profiles import Profiles
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, times_of
from bowerbird.simulated.world.settings import DAY, NEVER

_DELETED_WITHIN = 8
"""Days after which no post is deleted any more; `cascades.own_end` draws up to six."""
_KEPT = 4


class Changes:
    """The moments of change by account, day by day. Times in ms."""

    def __init__(self, calendar: Calendar, people: Population, graph: FollowGraph, profiles: Profiles) -> None:
        self._calendar = calendar
        self._people = people
        self._graph = graph
        self._profiles = profiles
        self._ends: tuple[Array, Array] | None = None
        self._days: OrderedDict[int, tuple[Array, Array]] = OrderedDict()

    def next_after(self, account: int, now: int) -> int:
        """The first moment after now at which the account may look otherwise, at the latest when the day ends."""
        index = self._calendar.index(now)
        start, moments = self._day(index)
        low, high = int(start[account]), int(start[account + 1])
        place = low + int(moments[low:high].searchsorted(now, side="right"))
        end = self._calendar.begin(index + 1)
        soonest = int(moments[place]) if place < high else end
        return min(soonest, end, self._profiles.next_edit(account, now))

    def _day(self, index: int) -> tuple[Array, Array]:
        day = self._days.get(index)
        if day is None:
            day = self._days[index] = self._gathered(index)
            if len(self._days) > _KEPT:
                self._days.popitem(last=False)
        return day

    def _gathered(self, index: int) -> tuple[Array, Array]:
        """Where each account's moments of one day begin, and the moments."""
        begin = self._calendar.begin(index)
        parts = [*self._fates(), *self._follows(begin)]
        for each in range(max(index - _DELETED_WITHIN, self._calendar.first), index + 1):
            parts += _doings(self._calendar.day(each))
        account = np.concatenate([part[0] for part in parts])
        ms = np.concatenate([part[1] for part in parts])
        keep = np.flatnonzero((begin <= ms) & (ms < begin + DAY))
        keep = keep[np.lexsort((ms[keep], account[keep]))]
        start = np.searchsorted(account[keep], np.arange(len(self._people) + 1))
        return start, ms[keep]

    def _fates(self) -> list[tuple[Array, Array]]:
        people = self._people
        everybody = np.arange(len(people))
        fates = (people.created, people.left, people.suspended, people.returned, people.protected, people.unprotected)
        return [(everybody, when) for when in fates]

    def _follows(self, begin: int) -> list[tuple[Array, Array]]:
        graph = self._graph
        if self._ends is None:
            self._ends = graph.ends()
        found = []
        for when in (graph.since, graph.until):
            place = np.flatnonzero((begin <= when) & (when < begin + DAY))
            found += [(end[place], when[place]) for end in self._ends]
        return found


def _doings(day: Day) -> list[tuple[Array, Array]]:
    """Posts and their deletions by author, reactions and their ends by the author of what they refer to."""
    references = day.references
    author = day.number & AUTHOR_MASK
    whose = np.repeat(references.target & AUTHOR_MASK, np.diff(references.start))
    written = times_of(day.number)
    ended, taken_back = day.gone_at != NEVER, references.gone_at != NEVER
    return [
        (author, written),
        (author[ended], day.gone_at[ended]),
        (whose, references.ms),
        (whose[taken_back], references.gone_at[taken_back]),
    ]
