"""The days of a world: drawn in order, kept while there is room, drawn again when needed; counters are kept for good."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import OrderedDict, defaultdict

import numpy as np

from bowerbird.simulated.world.passing.days import Writers, Writing
from bowerbird.simulated.world.people.graph import FollowGraph
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.posts.cascades import REACH, Day, Resolver, complete
from bowerbird.simulated.world.posts.events import Event
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, number_of
from bowerbird.simulated.world.settings import DAY, NEVER, WorldSettings

_KEPT_BYTES = 400_000_000


class Calendar:
    """Every day's posts and likes by day index (day 0 is the world's start)."""

    def __init__(self, settings: WorldSettings, people: Population, graph: FollowGraph, writers: Writers | None = None) -> None:
        self._settings = settings
        self._start_ms = settings.start_ms
        self._accounts = len(people)
        self._writers = writers or Writers(settings, people)
        self._resolver = Resolver(settings.seed, graph, people)
        self._writing: OrderedDict[int, Writing] = OrderedDict()
        self._days: OrderedDict[int, Day] = OrderedDict()
        self._room = max(8, _KEPT_BYTES // int(4_000 + self._accounts * (12 + 60 * settings.posts_per_day)))
        self._written = np.zeros((16, self._accounts), np.int32)
        self._known = 0
        self._gone: defaultdict[int, list[int]] = defaultdict(list)

    @property
    def first(self) -> int:
        return -self._settings.warm

    def index(self, ms: int) -> int:
        return (ms - self._start_ms) // DAY

    def begin(self, index: int) -> int:
        return self._start_ms + index * DAY

    def day(self, index: int) -> Day:
        """One day, whole: what lies after the present is for the asker to cut off."""
        day = self._days.get(index)
        if day is None:
            day = self._days[index] = self._complete(index)
            if len(self._days) > self._room:
                self._days.popitem(last=False)
        else:
            self._days.move_to_end(index)
        return day

    def events(self, index: int) -> list[Event]:
        """The events that begin on a day; none before the first day has posts."""
        return self._writers.events(index)

    def days_with_posts(self, account: int, first: int, last: int) -> list[int]:
        """The days between the two, both included, on which the account wrote; newest first."""
        self._count_up_to(last)
        low, high = max(first - self.first, 0), last - self.first
        if high < low:
            return []
        counts = self._written[low : high + 2, account]
        return [int(place) + low + self.first for place in np.flatnonzero(counts[1:] != counts[:-1])[::-1]]

    def written(self, account: int, now: int) -> int:
        """How many posts since the first day exist at that time, deleted ones left out."""
        today = self.index(now)
        if today < self.first:
            return 0
        self._count_up_to(today)
        total = int(self._written[today - self.first, account])
        if self._written[today - self.first + 1, account] != total:
            day = self.day(today)
            part = day.number[day.start[account] : day.start[account + 1]]
            total += int(np.searchsorted(part, number_of(now + 1, 0)))
        gone = self._gone.get(account)
        return total - (bisect_right(gone, now) if gone else 0)

    def _count_up_to(self, index: int) -> None:
        """Row k of `_written` counts the posts of all days before day `first + k`."""
        while self._known + self.first <= index:
            if self._known + 2 > len(self._written):
                self._written = np.concatenate([self._written, np.zeros_like(self._written)])
            day = self.day(self._known + self.first)
            self._written[self._known + 1] = self._written[self._known] + np.diff(day.start)
            for place in np.flatnonzero(day.gone_at != NEVER).tolist():
                insort(self._gone[int(day.number[place]) & AUTHOR_MASK], int(day.gone_at[place]))
            self._known += 1

    def _complete(self, index: int) -> Day:
        seen = [self._write(each) for each in range(max(self.first, index - REACH), index + 1)]
        return complete(index, self._settings.seed, self._accounts, seen, self._like(index), self._resolver)

    def _write(self, index: int) -> Writing:
        writing = self._writing.get(index)
        if writing is None:
            writing = self._writing[index] = self._writers.day(index)
            if len(self._writing) > 2 * REACH + 2:
                self._writing.popitem(last=False)
        return writing

    def _like(self, index: int) -> tuple[Array, Array]:
        return self._writers.likes(index)
