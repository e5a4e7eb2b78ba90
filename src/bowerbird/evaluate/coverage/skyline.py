"""What accounts show at any moment, from a few arrays: neither texts nor pages nor a graph, so a million of them fit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import accumulate

import numpy as np
from msgspec import structs

from bowerbird.evaluate.coverage.truth import Written, written
from bowerbird.model import Outcome
from bowerbird.simulated.world import World
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, QUOTE, REPOST, numbers_of, times_of
from bowerbird.simulated.world.settings import NEVER, from_ms, to_ms
from bowerbird.simulated.world.world import Availability

_OUTCOMES = {
    Availability.OPEN: Outcome.OK,
    Availability.PROTECTED: Outcome.PROTECTED,
    Availability.SUSPENDED: Outcome.SUSPENDED,
    Availability.GONE: Outcome.NOT_FOUND,
    Availability.UNBORN: Outcome.NOT_FOUND,
}


class Skyline:
    """The posts of one or several worlds side by side, by account and time; a post is known by its place among all of them."""

    def __init__(self, worlds: Sequence[World], since: datetime, days: float) -> None:
        self._worlds = worlds
        self._offsets = [0, *accumulate(map(len, worlds))]
        until = since + timedelta(days=days)
        parts = [_posts(world, offset, to_ms(until)) for world, offset in zip(worlds, self._offsets, strict=False)]
        author, ms, gone, target = (np.concatenate(column) for column in zip(*parts, strict=True))
        self.number: Array = numbers_of(ms, author)
        self.there = _joined([written(world, since, until) for world in worlds], self._offsets)
        self._history = np.concatenate([world.people.history for world in worlds])
        self._created = np.concatenate([world.people.created for world in worlds])
        self._is_odd = np.concatenate([_is_odd(world, to_ms(since), to_ms(until)) for world in worlds])
        self._ms, self._gone, self._author = _view(ms), _view(gone), _view(author)
        self._target = _view(_places(target, self.number))
        self._first = _view(np.searchsorted(author, np.arange(len(self) + 1)))
        ended = np.flatnonzero(gone != NEVER)
        ended = ended[np.lexsort((gone[ended], author[ended]))]
        self._ends, self._first_end = _view(gone[ended]), _view(np.searchsorted(author[ended], np.arange(len(self) + 1)))

    def __len__(self) -> int:
        return self._offsets[-1]

    @property
    def asked(self) -> Iterator[int]:
        """The accounts that a crawl asks about: those that did not ask to be left alone."""
        shy = np.concatenate([world.people.says_nobot for world in self._worlds])
        return iter(np.flatnonzero(~shy).tolist())

    def outcome(self, account: int, now: int) -> Outcome:
        """What asking about an account ends with."""
        if not self._is_odd[account]:
            return Outcome.OK
        world, own = self._whose(account)
        return _OUTCOMES[world.availability(own, now)]

    def counter(self, account: int, now: int) -> int:
        """How many posts its profile counts."""
        first, end = self._first[account], self._first_end[account]
        wrote = bisect_right(self._ms, now, first, self._first[account + 1]) - first
        return int(self._history[account]) + wrote - (bisect_right(self._ends, now, end, self._first_end[account + 1]) - end)

    def newest(self, account: int, now: int, most: int = 1) -> list[int]:
        """Places of its newest posts that can be seen, the newest first."""
        first = self._first[account]
        place = bisect_right(self._ms, now, first, self._first[account + 1])
        found: list[int] = []
        while place > first and len(found) < most:
            place -= 1
            if self._gone[place] > now:
                found.append(place)
        return found

    def passed_on(self, place: int, now: int) -> int | None:
        """The post that a repost or a quote shows inside itself."""
        target = self._target[place]
        is_shown = target >= 0 and self._gone[target] > now and self.outcome(self._author[target], now) is Outcome.OK
        return target if is_shown else None

    def older(self, account: int, now: int) -> datetime | None:
        """When an account wrote last that has written nothing since the world's first day."""
        world, own = self._whose(account)
        row = world.newest(own, now)
        return None if row is None else from_ms(row.ms)

    def created(self, account: int) -> datetime:
        return from_ms(int(self._created[account]))

    def written_at(self, place: int) -> datetime:
        return from_ms(self._ms[place])

    def _whose(self, account: int) -> tuple[World, int]:
        number = bisect_right(self._offsets, account) - 1
        return self._worlds[number], account - self._offsets[number]


def _view(array: Array) -> memoryview[int]:
    """Single values are read from a view three times as fast as from an array."""
    return memoryview(np.ascontiguousarray(array, np.int64).data).cast("B").cast("q")


def _posts(world: World, offset: int, end: int) -> tuple[Array, Array, Array, Array]:
    """Author, time and end of all posts from the world's first day on, by author and time, and the number of what each passes
    on."""
    days = [world.calendar.day(index) for index in range(world.calendar.first, world.calendar.index(end - 1) + 1)]
    number, gone, kind, target = (
        np.concatenate([getattr(day, column) for day in days]) for column in ("number", "gone_at", "kind", "target")
    )
    author, ms = number & AUTHOR_MASK, times_of(number)
    target = np.where(((kind == REPOST) | (kind == QUOTE)) & (target > 0), target + offset, 0)
    order = np.lexsort((ms, author))
    return author[order] + offset, ms[order], gone[order], target[order]


def _places(numbers: Array, among: Array) -> Array:
    """Where each number stands among others, or -1."""
    order = np.argsort(among)
    place = order[np.minimum(np.searchsorted(among[order], numbers), len(among) - 1)]
    return np.where(among[place] == numbers, place, -1)


def _joined(parts: Sequence[Written], offsets: Sequence[int]) -> Written:
    author = np.concatenate([part.author + offset for part, offset in zip(parts, offsets, strict=False)])
    ms = np.concatenate([part.ms for part in parts])
    is_left = np.concatenate([part.is_left for part in parts])
    return structs.replace(
        parts[0],
        number=numbers_of(ms, author),
        author=author,
        ms=ms,
        is_left=is_left,
        accounts=sum(part.accounts for part in parts),
    )


def _is_odd(world: World, begin: int, end: int) -> Array:
    """Who may be out of sight at some time of a period."""
    people = world.people
    is_out = (people.suspended < end) & (people.returned > begin)
    is_hidden = (people.protected < end) & (people.unprotected > begin)
    odd: Array = is_out | is_hidden | (people.created > begin) | (people.left < end)
    return odd
