"""What all accounts write in one day: a self-exciting process on the daily rhythm of each community, plus events. Vectorised."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.posts.rows import POST, QUOTE, REPLY, REPOST
from bowerbird.simulated.world.posts.tags import EVENTS_PER_DAY, NO_TAG, TAGS_PER_TOWN, event_tag
from bowerbird.simulated.world.settings import DAY, WorldSettings

EXCITED = 0.4
"""Share of posts that another post of the same account brought on."""
_ECHO_MS = 15 * 60_000
"""Mean time until a post brings on another."""
_EVENT_DAYS = 3

_HOURS = np.arange(25) * 3_600_000.0
_BUSY = np.array([4, 2, 1, 1, 1, 2, 4, 7, 9, 9, 9, 10, 12, 11, 10, 10, 10, 11, 13, 15, 17, 18, 14, 8], float)
_RHYTHM = np.concatenate([[0.0], np.cumsum(_BUSY) / _BUSY.sum()])


class Writing(Struct, frozen=True):
    """One day's posts sorted by (account, time), before it is known what the replies and reposts refer to."""

    author: Array
    ms: Array
    kind: Array
    tag: Array
    second_tag: Array


class Writers:
    """Draws the writing of any day, always the same for the same day."""

    def __init__(self, settings: WorldSettings, people: Population) -> None:
        self._settings = settings
        self._people = people
        self._weights = np.cumsum(people.rate)

    def day(self, day: int) -> Writing:
        rng = generator(self._settings.seed, 3, day & 0xFFFFFFFF)
        author, ms = self._ordinary(rng, day)
        tag, second = self._topics(rng, author)
        kind = rng.choice(np.array([POST, REPLY, REPOST, QUOTE], np.int8), len(author), p=[0.45, 0.22, 0.28, 0.05])
        extra = [
            self._event(start, event, day) for start in range(day - _EVENT_DAYS + 1, day + 1) for event in range(EVENTS_PER_DAY)
        ]
        parts = [(author, ms, kind, tag, second), *(part for part in extra if part is not None)]
        return self._sorted(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def likes(self, day: int) -> tuple[Array, Array]:
        """Who would like something that day, and when."""
        rng = generator(self._settings.seed, 4, day & 0xFFFFFFFF)
        author = np.repeat(np.arange(len(self._people)), rng.poisson(self._people.like_rate))
        ms = self._times(rng, author, day)
        keep = self._is_there(author, ms)
        return author[keep], ms[keep]

    def _ordinary(self, rng: np.random.Generator, day: int) -> tuple[Array, Array]:
        people = self._people
        author = np.repeat(np.arange(len(people)), rng.poisson(people.rate * (1 - EXCITED)))
        ms = self._times(rng, author, day)
        all_authors, all_ms = [author], [ms]
        end = self._settings.start_ms + (day + 1) * DAY
        while len(author):
            children = rng.poisson(EXCITED, len(author))
            author = np.repeat(author, children)
            ms = np.repeat(ms, children) + rng.exponential(_ECHO_MS, len(author)).astype(np.int64)
            # What would spill over midnight is dropped: a day depends on nothing but itself.
            author, ms = author[ms < end], ms[ms < end]
            all_authors.append(author)
            all_ms.append(ms)
        return np.concatenate(all_authors), np.concatenate(all_ms)

    def _times(self, rng: np.random.Generator, author: Array, day: int) -> Array:
        local = np.interp(rng.random(len(author)), _RHYTHM, _HOURS).astype(np.int64)
        times: Array = self._settings.start_ms + day * DAY + (local - self._people.shift_ms[author]) % DAY
        return times

    def _topics(self, rng: np.random.Generator, author: Array) -> tuple[Array, Array]:
        home = self._people.community[author].astype(np.int32) * TAGS_PER_TOWN
        first = home + np.minimum(rng.geometric(0.12, len(author)) - 1, TAGS_PER_TOWN - 1)
        second = home + np.minimum(rng.geometric(0.12, len(author)) - 1, TAGS_PER_TOWN - 1)
        draw = rng.random(len(author))
        has_second = (draw < 0.07) & (first != second)
        return np.where(draw < 0.25, first, NO_TAG).astype(np.int32), np.where(has_second, second, NO_TAG).astype(np.int32)

    def _event(self, start: int, event: int, day: int) -> tuple[Array, ...] | None:
        """The part of one event that falls on a day; None if there is no such event."""
        rng = generator(self._settings.seed, 5, start & 0xFFFFFFFF, event)
        if rng.random() > 0.15:
            return None
        volume = self._settings.accounts * self._settings.posts_per_day * 0.01 * min(rng.pareto(1.1) + 0.2, 10.0)
        count = int(rng.poisson(volume))
        begins = self._settings.start_ms + start * DAY + int(rng.random() * DAY)
        town = int(rng.integers(0, int(self._people.community.max()) + 1))
        ms = begins + (rng.gamma(1.6, 5.0, count) * 3_600_000).astype(np.int64)
        author = np.searchsorted(self._weights, rng.random(count) * self._weights[-1], side="right")
        draw, more = rng.random(count), rng.integers(1, 4, count)
        kind = rng.choice(np.array([POST, REPLY, REPOST], np.int8), count, p=[0.45, 0.15, 0.4])
        first, second = event_tag(start, event), event_tag(start, event) + more
        tag = np.where(draw < 0.85, first, second).astype(np.int32)
        second_tag = np.where(draw < 0.3, second, NO_TAG).astype(np.int32)
        is_near = (self._people.community[author] == town) | (rng.random(count) < 0.15)
        keep = is_near & ((ms - self._settings.start_ms) // DAY == day)
        return author[keep], ms[keep], kind[keep], tag[keep], second_tag[keep]

    def _sorted(self, author: Array, ms: Array, kind: Array, tag: Array, second: Array) -> Writing:
        # Four milliseconds apart at least, and the author's top two bits in the time: a Mastodon id must say who wrote it.
        ms = ms // 4 * 4 + (author >> 16)
        keep = self._is_there(author, ms)
        place = np.flatnonzero(keep)
        _, first = np.unique((author[place].astype(np.int64) << 44) | ms[place], return_index=True)
        chosen = place[first]
        return Writing(author[chosen].astype(np.int32), ms[chosen], kind[chosen], tag[chosen], second[chosen])

    def _is_there(self, author: Array, ms: Array) -> Array:
        people = self._people
        is_out = (people.suspended[author] <= ms) & (ms < people.returned[author])
        return (people.created[author] <= ms) & (ms < people.left[author]) & ~is_out
