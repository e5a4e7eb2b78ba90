"""The happenings of a world as columns: fates of accounts and follows once for all time, the rest day by day."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.hashing import mix_many, unit_many
from bowerbird.simulated.world.passing.calendar import Calendar
from bowerbird.simulated.world.people.graph import FollowGraph
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.people.profiles import Profiles
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, REPOST
from bowerbird.simulated.world.settings import DAY, NEVER, WorldSettings

LATEST_DELETION = 6
"""No post is deleted more than this many days after it was written."""


class Kind(IntEnum):
    """What can happen; within one millisecond in this order."""

    JOINED = 0
    RETURNED = 1
    UNPROTECTED = 2
    PROTECTED = 3
    PROFILE = 4
    FOLLOWED = 5
    UNFOLLOWED = 6
    WRITTEN = 7
    EDITED = 8
    LIKED = 9
    DELETED = 10
    SUSPENDED = 11
    LEFT = 12


class Columns(Struct, frozen=True):
    """Many happenings, in the order of time once they are `sorted`."""

    ms: Array
    kind: Array
    account: Array
    number: Array
    other: Array

    def sorted(self) -> Columns:
        order = np.lexsort((self.number, self.account, self.kind, self.ms))
        return self.where(order)

    def where(self, places: Array | slice) -> Columns:
        return Columns(self.ms[places], self.kind[places], self.account[places], self.number[places], self.other[places])


def joined(parts: Sequence[Columns]) -> Columns:
    return Columns(*(np.concatenate([getattr(part, name) for part in parts]) for name in Columns.__struct_fields__))


def happened(kind: Kind, ms: Array, account: Array, number: Array | int = 0, other: Array | int = -1) -> Columns:
    count = len(ms)
    full = (np.full(count, kind, np.int8), account.astype(np.int32))
    return Columns(ms.astype(np.int64), *full, *(np.broadcast_to(np.asarray(each, np.int64), count) for each in (number, other)))


class Doings:
    """Draws the columns. What an account that is away would do is told when it returns; one that has left does nothing."""

    def __init__(
        self, settings: WorldSettings, people: Population, graph: FollowGraph, calendar: Calendar, profiles: Profiles
    ) -> None:  # fmt: skip
        self._settings = settings
        self._people = people
        self._graph = graph
        self._calendar = calendar
        self._profiles = profiles
        self._is_away_ever = people.suspended < np.minimum(people.returned, people.left)

    def lasting(self) -> Columns:
        """Fates of accounts and follows over all time, sorted."""
        return joined([self._fates(), *self._follows()]).sorted()

    def day(self, index: int) -> list[Columns]:
        """Everything else that happens on one day."""
        start = self._settings.start_ms + index * DAY
        return [*self._written(index), self._liked(index), *self._ends(index, start), self._edited_profiles(start)] + [
            part for account in self._returning(start) for part in self._caught_up(account, start)
        ]

    def _fates(self) -> Columns:
        people, everyone = self._people, np.arange(len(self._people))
        was_away = self._is_away_ever
        came_back = was_away & (people.returned < people.left)
        parts = [
            happened(Kind.JOINED, people.created, everyone),
            happened(Kind.LEFT, people.left, everyone).where(people.left != NEVER),
            happened(Kind.SUSPENDED, people.suspended, everyone).where(was_away),
            happened(Kind.RETURNED, people.returned, everyone).where(came_back & (people.returned != NEVER)),
        ]
        is_guarded = people.protected < people.unprotected
        for kind, when in ((Kind.PROTECTED, people.protected), (Kind.UNPROTECTED, people.unprotected)):
            ms = self._told(when, everyone)
            parts.append(happened(kind, ms, everyone).where(is_guarded & (when > people.created) & (ms != NEVER)))
        return joined(parts)

    def _follows(self) -> list[Columns]:
        sources, targets = self._graph.ends()
        since, until = self._told(self._graph.since, sources), self._told(self._graph.until, sources)
        was_there = since < until
        # A follow that ends because the one followed leaves is not told by itself: the leaving says it.
        is_ended = was_there & (until != NEVER) & (self._graph.until < self._people.left[targets])
        ranks = np.arange(len(sources))
        return [
            happened(Kind.FOLLOWED, since, sources, ranks, targets).where(was_there & (since != NEVER)),
            happened(Kind.UNFOLLOWED, until, sources, ranks, targets).where(is_ended),
        ]

    def _told(self, ms: Array, account: Array) -> Array:
        """When the world hears of what an account does: at once, at its return, or never."""
        people = self._people
        is_away = self._is_away_ever[account] & (people.suspended[account] <= ms) & (ms < people.returned[account])
        told = np.where(is_away, people.returned[account], ms)
        return np.where(told < people.left[account], told, NEVER)

    def _written(self, index: int) -> list[Columns]:
        day = self._calendar.day(index)
        ms = _ms(day.number)
        return [happened(Kind.WRITTEN, ms, day.number & AUTHOR_MASK, day.number, day.target).where(day.gone_at > ms)]

    def _liked(self, index: int) -> Columns:
        day = self._calendar.day(index)
        liker = np.repeat(np.arange(len(self._people)), np.diff(day.liked_start))
        return happened(Kind.LIKED, day.liked_ms, liker, day.liked)

    def _ends(self, index: int, start: int) -> list[Columns]:
        """Deletions and edits of posts of this day and the days before it."""
        parts = []
        for each in range(max(index - LATEST_DELETION, self._calendar.first), index + 1):
            for kind, when, number in self._changes(each):
                author = number & AUTHOR_MASK
                is_today = (start <= when) & (when < start + DAY) & (self._told(when, author) == when)
                parts.append(happened(kind, when, author, number).where(is_today))
        return parts

    def _changes(self, index: int) -> list[tuple[Kind, Array, Array]]:
        """Which posts of a day are deleted and edited, and when."""
        day = self._calendar.day(index)
        ms = _ms(day.number)
        lasts = (day.gone_at > ms) & (day.gone_at != NEVER)
        draw = mix_many(day.number, self._settings.seed ^ 0xC0)
        edited_ms = ms + 60_000 + ((draw >> np.uint64(30)) % np.uint64(3_600_000)).astype(np.int64)
        is_edited = ((draw >> np.uint64(52)) % np.uint64(32) == 0) & (day.kind != REPOST) & (edited_ms < day.gone_at)
        return [
            (Kind.DELETED, day.gone_at[lasts], day.number[lasts]),
            (Kind.EDITED, edited_ms[is_edited], day.number[is_edited]),
        ]

    def _edited_profiles(self, start: int) -> Columns:
        people, everyone = self._people, np.arange(len(self._people))
        parts = []
        first, last = ((at - people.created) // people.edit_every for at in (start, start + DAY - 1))
        for more in range(int(np.max(last - first)) + 1):
            edit = first + more
            share = unit_many(mix_many(everyone * 8191 + np.maximum(edit, 0), self._settings.seed))
            when = people.created + edit * people.edit_every + (share * 0.8 * people.edit_every).astype(np.int64)
            is_today = (edit >= 1) & (edit <= last) & (start <= when) & (when < start + DAY)
            is_today &= self._told(when, everyone) == when
            parts.append(happened(Kind.PROFILE, when, everyone, edit).where(is_today))
        return joined(parts)

    def _returning(self, start: int) -> list[int]:
        people = self._people
        comes = self._is_away_ever & (people.returned < people.left)
        accounts: list[int] = np.flatnonzero(comes & (start <= people.returned) & (people.returned < start + DAY)).tolist()
        return accounts

    def _caught_up(self, account: int, start: int) -> list[Columns]:
        """What became of the posts and the profile of an account while it was away, told at its return."""
        went, back = int(self._people.suspended[account]), int(self._people.returned[account])
        parts, who = [], np.array([account])
        last = self._calendar.index(went)
        for index in range(max(last - LATEST_DELETION, self._calendar.first), last + 1):
            for kind, when, number in self._changes(index):
                missed = ((number & AUTHOR_MASK) == account) & (went <= when) & (when < back)
                count = int(missed.sum())
                parts.append(happened(kind, np.full(count, back), np.full(count, account), number[missed]))
        version = self._profiles.version(account, back)
        if version != self._profiles.version(account, went - 1):
            parts.append(happened(Kind.PROFILE, np.array([back]), who, version))
        return parts


def _ms(numbers: Array) -> Array:
    return (numbers >> 22) + 1_288_834_974_657
