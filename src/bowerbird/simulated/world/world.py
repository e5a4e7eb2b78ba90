"""The synthetic microblog as of any time: a function of the settings and the time asked about, whatever was asked before."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import islice

import numpy as np

from bowerbird.simulated.world.nations.tongues import Tongues
from bowerbird.simulated.world.passing.calendar import Calendar
from bowerbird.simulated.world.passing.changes import Changes
from bowerbird.simulated.world.passing.doings import Doings
from bowerbird.simulated.world.passing.happenings import Chronicle, Happening
from bowerbird.simulated.world.passing.recorded import Recorded, RecordedWriters
from bowerbird.simulated.world.people.graph import FollowGraph
from bowerbird.simulated.world.people.history import Histories
from bowerbird.simulated.world.people.population import populate
from bowerbird.simulated.world.people.profiles import Profiles
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.content import Contents
from bowerbird.simulated.world.posts.rows import Row, author_of, is_live, ms_of, number_of
from bowerbird.simulated.world.settings import WorldSettings

Wanted = Callable[[Row], bool]
FAR = 1 << 63


class Availability(StrEnum):
    """What a visitor finds at an account."""

    OPEN = "open"
    PROTECTED = "protected"
    SUSPENDED = "suspended"
    GONE = "gone"
    UNBORN = "unborn"


class World:
    """Accounts, graph and posts. Times are milliseconds since the epoch; accounts and posts are numbers."""

    def __init__(self, settings: WorldSettings, recorded: Recorded | None = None) -> None:
        """`recorded`: times at which the accounts write, instead of drawn ones."""
        self.settings = settings
        self.warm_ms = settings.warm_ms
        self.people = recorded.people(populate(settings)) if recorded else populate(settings)
        self.graph = FollowGraph(settings, self.people)
        writers = RecordedWriters(settings, self.people, recorded) if recorded else None
        self.calendar = Calendar(settings, self.people, self.graph, writers)
        self.histories = Histories(settings, self.people, self.graph)
        self.profiles = Profiles(settings.seed, self.people, mixed=settings.mixed)
        self.changes = Changes(self.calendar, self.people, self.graph, self.profiles)
        tongues = Tongues(settings.seed, self.people.community) if settings.mixed else None
        self.contents = Contents(settings.seed, self.people.community, self.profiles, settings.reticent, tongues)
        doings = Doings(settings, self.people, self.graph, self.calendar, self.profiles)
        self._chronicle = Chronicle(settings, self.calendar, doings)

    def __len__(self) -> int:
        return len(self.people)

    def availability(self, account: int, now: int) -> Availability:
        people = self.people
        if now < people.created[account]:
            return Availability.UNBORN
        if now >= people.left[account]:
            return Availability.GONE
        if people.suspended[account] <= now < people.returned[account]:
            return Availability.SUSPENDED
        if people.protected[account] <= now < people.unprotected[account]:
            return Availability.PROTECTED
        return Availability.OPEN

    def exists(self, account: int, now: int) -> bool:
        return bool(self.people.created[account] <= now < self.people.left[account])

    def is_open(self, account: int, now: int) -> bool:
        return self.availability(account, now) is Availability.OPEN

    def post_count(self, account: int, now: int) -> int:
        """The profile's counter: all posts that exist at that time, whoever may read them."""
        return int(self.people.history[account]) + self.calendar.written(account, now)

    def post(self, number: int, now: int) -> Row | None:
        """The post of that number if it exists at that time, whatever has become of its author."""
        row = self.row(number, now)
        return row if row is not None and is_live(row, now) else None

    def row(self, number: int, now: int) -> Row | None:
        """The post of that number, written by that time and perhaps deleted since."""
        author, ms = author_of(number), ms_of(number)
        if author >= len(self) or number <= 0 or ms > now or ms < self.people.created[author]:
            return None
        if ms < self.warm_ms:
            return self.histories.find(number)
        day = self.calendar.day(self.calendar.index(ms))
        start, stop = int(day.start[author]), int(day.start[author + 1])
        place = start + int(np.searchsorted(day.number[start:stop], number))
        return _rows(day, place, place + 1)[0] if place < stop and day.number[place] == number else None

    def timeline(
        self, account: int, now: int, *, below: int = FAR, above: int = 0, wanted: Wanted | None = None
    ) -> Iterator[Row]:
        """Existing posts with `above < number < below`, newest first."""
        for row in self._written_back(account, now, below, above):
            if row.gone_at > now and (wanted is None or wanted(row)):
                yield row

    def oldest_above(self, account: int, now: int, above: int, count: int, wanted: Wanted | None = None) -> list[Row]:
        """The `count` oldest existing posts above a number, newest of them first."""
        return list(self.timeline(account, now, above=above, wanted=wanted))[-count:] if count else []

    def newest(self, account: int, now: int) -> Row | None:
        """The first of the timeline. Every profile tells when that was, so that no other row is made for it."""
        if self.people.rate[account] > 0:
            for index in self.calendar.days_with_posts(account, self.calendar.first, self.calendar.index(now)):
                day = self.calendar.day(index)
                start, stop = int(day.start[account]), int(day.start[account + 1])
                stop = start + int(day.number[start:stop].searchsorted(number_of(now + 1, 0)))
                there = np.flatnonzero(day.gone_at[start:stop] > now)
                if len(there):
                    place = start + int(there[-1])
                    return _rows(day, place, place + 1)[0]
        return next(self.timeline(account, now, below=number_of(self.warm_ms, 0)), None)

    def all_rows(self, account: int, after: int, before: int) -> list[Row]:
        """Every post written in `after <= ms < before`, deleted ones too, newest first."""
        return list(self._written_back(account, before - 1, number_of(before, 0), number_of(after, 0) - 1))

    def liked(self, account: int, now: int, *, below: int = FAR, above: int = 0) -> Iterator[int]:
        """Numbers of the posts an account liked since the first day, latest like first."""
        return (number for _, number in self.likes(account, now) if above < number < below)

    def likes(self, account: int, now: int) -> Iterator[tuple[int, int]]:
        """(time, post) of everything an account liked since the first day, latest like first."""
        for index in range(self.calendar.index(now), self.calendar.first - 1, -1):
            day = self.calendar.day(index)
            part = slice(int(day.liked_start[account]), int(day.liked_start[account + 1]))
            pairs = zip(day.liked_ms[part].tolist()[::-1], day.liked[part].tolist()[::-1], strict=True)
            yield from (pair for pair in pairs if pair[0] <= now)

    def happenings(self, after: int, until: int) -> list[Happening]:
        """Everything that happens with `after < ms <= until`, in order; nothing before the world's first day is told."""
        return self._chronicle.between(after, until)

    def next_happening(self, after: int, until: int) -> int | None:
        """When the first of them happens."""
        return self._chronicle.next_after(after, until)

    def _written_back(self, account: int, now: int, below: int, above: int) -> Iterator[Row]:
        newest = min(below, number_of(now + 1, 0))
        if newest <= above:
            return
        last = self.calendar.index(ms_of(newest))
        first = max(self.calendar.index(ms_of(above)), self.calendar.first)
        if self.people.rate[account] > 0:
            for index in self.calendar.days_with_posts(account, first, min(last, self.calendar.index(now))):
                day = self.calendar.day(index)
                start, stop = int(day.start[account]), int(day.start[account + 1])
                low, high = np.searchsorted(day.number[start:stop], [above + 1, newest])
                yield from reversed(_rows(day, start + int(low), start + int(high)))
        if ms_of(above) < self.warm_ms and self.people.history[account]:
            numbers = self.histories.numbers(account)
            for place in range(bisect_left(numbers, newest) - 1, -1, -1):
                if numbers[place] <= above:
                    return
                yield self.histories.row(numbers[place])


def _rows(day: Day, low: int, high: int) -> list[Row]:
    part = slice(low, high)
    columns = (day.number, day.kind, day.target, day.tag, day.second_tag, day.gone_at, day.event)
    return [Row(*values) for values in zip(*(column[part].tolist() for column in columns), strict=True)]


def first(rows: Iterator[Row], count: int) -> list[Row]:
    return list(islice(rows, count))
