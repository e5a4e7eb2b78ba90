"""Views over everybody's posts: public timeline, hashtag timelines, search, trends, directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.rows import REPOST, Row, number_of
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_name
from bowerbird.simulated.world.settings import DAY
from bowerbird.simulated.world.world import FAR, World

Mask = Callable[[Day], npt.NDArray[np.bool_]]


class Crowd:
    """Newest-first views over all accounts, from the world's days only."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._order: dict[int, Array] = {}

    def posts(self, now: int, mask: Mask, *, below: int = FAR, above: int = 0, oldest: int = 0) -> Iterator[Row]:
        """Existing posts of open accounts that the mask selects, newest first, none written before `oldest`."""
        calendar = self._world.calendar
        newest = min(below, number_of(now + 1, 0))
        above = max(above, number_of(oldest, 0) - 1, 0)
        last = min(calendar.index(now), calendar.index((newest >> 22) + 1_288_834_974_657))
        for index in range(last, calendar.first - 1, -1):
            day = calendar.day(index)
            order = self._newest_first(index, day)
            is_wanted = mask(day) & (day.number < newest) & (day.number > above) & (day.gone_at > now)
            yield from self._open(day, order[is_wanted[order]], now)
            if calendar.index(above // (1 << 22) + 1_288_834_974_657) >= index:
                return

    def with_tag(self, tag: int) -> Mask:
        """Posts with a hashtag; none for `NO_TAG`, which every post without a second one carries in its place."""
        if tag == NO_TAG:
            return lambda day: np.zeros(len(day.number), bool)
        return lambda day: ((day.tag == tag) | (day.second_tag == tag)) & (day.kind != REPOST)

    def originals(self, day: Day) -> npt.NDArray[np.bool_]:
        is_original: npt.NDArray[np.bool_] = day.kind != REPOST
        return is_original

    def trends(self, now: int, town: int | None = None) -> list[tuple[str, int]]:
        """Hashtags of the last 24 hours with the number of posts, most used first."""
        counts: dict[int, int] = {}
        for index in (self._world.calendar.index(now) - 1, self._world.calendar.index(now)):
            if index < self._world.calendar.first:
                continue
            day = self._world.calendar.day(index)
            is_recent = (day.number <= number_of(now, 0)) & (day.number > number_of(now - DAY, 0)) & (day.tag != NO_TAG)
            if town is not None:
                is_recent &= self._world.people.community[day.number & ((1 << 22) - 1)] == town
            for tag, count in zip(*(part.tolist() for part in np.unique(day.tag[is_recent], return_counts=True)), strict=True):
                counts[tag] = counts.get(tag, 0) + count
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(tag_name(tag), count) for tag, count in ranked]

    def directory(self, now: int, by_newest: bool) -> Array:
        """Accounts that want to be discovered, the newest or the most active first."""
        people = self._world.people
        is_there = (people.created <= now) & (people.left > now) & ~((people.suspended <= now) & (now < people.returned))
        accounts = np.flatnonzero(is_there & people.is_discoverable)
        return accounts[np.argsort(-(people.created if by_newest else people.rate)[accounts], kind="stable")]

    def _newest_first(self, index: int, day: Day) -> Array:
        order = self._order.get(index)
        if order is None:
            if len(self._order) > 32:
                self._order.clear()
            order = self._order[index] = np.argsort(-day.number, kind="stable").astype(np.int32)
        return order

    def _open(self, day: Day, places: Array, now: int) -> Iterator[Row]:
        for place in places.tolist():
            number = int(day.number[place])
            if self._world.is_open(number & ((1 << 22) - 1), now):
                yield Row(
                    number, int(day.kind[place]), int(day.target[place]), int(day.tag[place]),
                    int(day.second_tag[place]), int(day.gone_at[place]), int(day.event[place]),
                )  # fmt: skip
