"""What all accounts write in one day: a self-exciting process on the daily rhythm of each community, plus events. Vectorised."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.posts.events import EVENT_DAYS, SHAPE, Event, draw_event, event_hashtags, taken_over
from bowerbird.simulated.world.posts.rows import POST, QUOTE, REPLY, REPOST
from bowerbird.simulated.world.posts.tags import EVENTS_PER_DAY, NO_EVENT, NO_TAG, TAGS_PER_EVENT, TAGS_PER_TOWN
from bowerbird.simulated.world.settings import DAY, WorldSettings

EXCITED = 0.4
"""Share of posts that another post of the same account brought on."""
_ECHO_MS = 15 * 60_000
"""Mean time until a post brings on another."""

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
    event: Array
    """The number of the event that a post is about, or `NO_EVENT`."""


_Columns = tuple[Array, Array, Array, Array, Array, Array]


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
        drawn = [
            each for start in range(day - EVENT_DAYS + 1, day + 1) for each in self._events_from(start)
        ]  # fmt: skip
        other_use = taken_over(self._settings, [event for event, _ in drawn], self._people.rate.sum(), author, ms)
        tag = np.where(tag == NO_TAG, other_use, tag)
        parts = [(author, ms, kind, tag, second, np.full(len(author), NO_EVENT, np.int32))]
        parts += [self._event_posts(event, rng, day) for event, rng in drawn]
        return self._sorted(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def events(self, day: int) -> list[Event]:
        """The events that begin on a day."""
        return [event for event, _ in self._events_from(day)]

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

    def _event_posts(self, event: Event, rng: np.random.Generator, day: int) -> _Columns:
        """The part of one event that falls on a day."""
        count = event.posts
        ms = event.begins_ms + (rng.gamma(SHAPE, 1.0, count) * event.scale_ms).astype(np.int64)
        author = np.searchsorted(self._weights, rng.random(count) * self._weights[-1], side="right")
        chance, step = rng.random(count), rng.integers(1, TAGS_PER_EVENT, count)
        kind = rng.choice(np.array([POST, REPLY, REPOST], np.int8), count, p=[0.45, 0.15, 0.4])
        tag, second_tag = event_hashtags(event, ms, chance, step)
        is_near = (self._people.community[author] == event.town) | (rng.random(count) < 0.15)
        keep = is_near & ((ms - self._settings.start_ms) // DAY == day)
        about = np.full(count, event.number, np.int32)
        return author[keep], ms[keep], kind[keep], tag[keep], second_tag[keep], about[keep]

    def _events_from(self, day: int) -> list[tuple[Event, np.random.Generator]]:
        towns = int(self._people.community.max()) + 1
        drawn = (draw_event(self._settings, towns, day, nth) for nth in range(EVENTS_PER_DAY))
        return [each for each in drawn if each is not None]

    def _sorted(self, author: Array, ms: Array, kind: Array, tag: Array, second: Array, event: Array) -> Writing:
        # Four milliseconds apart at least, and the author's top two bits in the time: a Mastodon id must say who wrote it.
        ms = ms // 4 * 4 + (author >> 16)
        keep = self._is_there(author, ms)
        place = np.flatnonzero(keep)
        _, first = np.unique((author[place].astype(np.int64) << 44) | ms[place], return_index=True)
        chosen = place[first]
        return Writing(author[chosen].astype(np.int32), ms[chosen], kind[chosen], tag[chosen], second[chosen], event[chosen])

    def _is_there(self, author: Array, ms: Array) -> Array:
        people = self._people
        is_out = (people.suspended[author] <= ms) & (ms < people.returned[author])
        return (people.created[author] <= ms) & (ms < people.left[author]) & ~is_out
