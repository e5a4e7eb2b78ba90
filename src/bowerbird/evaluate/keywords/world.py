"""A made-up stream of some hours: three events at once, chatter, spam that rides on what is popular, and hijacked hashtags.

An event has two seeds, hashtags that are born while it lasts, some that others use too (countries), words of its own, and
bursts. Everybody adds hashtags of moods and media, by which one event leads to another and to everything else: that is what
floods SKwA. Who belongs to which event is known.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from math import exp
from random import Random

from msgspec import Struct

from bowerbird.analysis.keywords.grading import Category
from bowerbird.evaluate.keywords.streams import EventStream, StreamPost

_START = datetime(2012, 8, 4, 18, tzinfo=UTC)
_STEP = timedelta(seconds=10)
EVENTS = ("relay", "storm", "summit")
_TAGS, _SHARED, _FOREIGN = 30, 4, 4
_MOODS = tuple(f"#{name}" for name in ("love", "news", "fail", "nowplaying", "happy", "lol", "photo", "breaking", "tired", "win"))
_RIDERS = ("#teamfollowback", "#f4f", "#win4free")
_COUNTRIES = tuple(f"#country{number}" for number in range(6))
_CHATTER, _CHATTER_TAGS = 40, 6


class Size(Struct, frozen=True, kw_only=True):
    """How much is written, and for how long."""

    hours: float = 2.5
    posts: int = 8_000
    """An hour."""
    seed: int = 1


class _Topic(Struct, frozen=True):
    """What some people write about: its hashtags from when on, its words, how much is written."""

    name: str
    tags: tuple[tuple[str, float], ...]
    """Each with the part of the whole time from which on it exists."""
    words: tuple[str, ...]
    rate: float
    bursts: tuple[float, ...] = ()

    def volume(self, part: float) -> float:
        return self.rate * (1 + sum(5 * exp(-(((part - burst) / 0.05) ** 2)) for burst in self.bursts))


class World:
    """One stream and, for every event in it, who belongs to it and what its hashtags are."""

    def __init__(self, size: Size) -> None:
        self._chance = Random(size.seed)
        self._size = size
        self._common = [f"word{number}" for number in range(400)]
        self._events = [self._event(name) for name in EVENTS]
        self._chatter = [self._talk(number) for number in range(_CHATTER)]
        self._posts = self._written()

    def stream(self, event: str) -> EventStream:
        """All that is written; true is what belongs to this event."""
        posts = [StreamPost(key, at, text, topic == event) for key, at, text, topic in self._posts]
        return EventStream(event, posts, (f"#{event}2012", f"#{event}"))

    def labels(self, event: str) -> dict[str, Category]:
        """What a patient tagger would say of all hashtags; those of languages that nobody reads stay unknown."""
        found = {tag: Category.UNRELATED for topic in (*self._events, *self._chatter) for tag, _ in topic.tags}
        found |= dict.fromkeys((*_MOODS, *_RIDERS), Category.UNRELATED)
        for topic in self._events:
            if topic.name == event:
                found |= {tag: _category(tag, topic.name) for tag, _ in topic.tags}
        return found

    def _event(self, name: str) -> _Topic:
        own = [(f"#{name}{number}", self._chance.random() * 0.7) for number in range(_TAGS)]
        foreign = [(f"#{name}語{number}", self._chance.random() * 0.7) for number in range(_FOREIGN)]
        shared = [(tag, 0.0) for tag in self._chance.sample(_COUNTRIES, _SHARED)]
        words = tuple(f"{name}word{number}" for number in range(60))
        bursts = (self._chance.uniform(0.2, 0.5), self._chance.uniform(0.55, 0.9))
        seeds = [(f"#{name}2012", 0.0), (f"#{name}", 0.0)]
        # The older half of an event's own hashtags is the more popular one: births are mixed among ranks, as people invent them.
        return _Topic(name, (*seeds, *own[:8], *shared, *foreign, *own[8:]), words, 0.05, bursts)

    def _talk(self, number: int) -> _Topic:
        tags = [(f"#talk{number}x{each}", 0.0) for each in range(_CHATTER_TAGS)]
        if number < len(_COUNTRIES):
            tags.insert(1, (_COUNTRIES[number], 0.0))
        words = tuple(f"talk{number}word{each}" for each in range(40))
        bursts = (self._chance.random(),) if number % 3 == 0 else ()
        return _Topic(f"talk{number}", tuple(tags), words, 0.7 / _CHATTER, bursts)

    def _written(self) -> list[tuple[str, datetime, str, str]]:
        posts: list[tuple[str, datetime, str, str]] = []
        length = timedelta(hours=self._size.hours)
        topics = [*self._events, *self._chatter]
        per_step = self._size.posts * (_STEP / timedelta(hours=1))
        for step in range(int(length / _STEP)):
            part = step / (length / _STEP)
            volumes = [topic.volume(part) for topic in topics]
            for _ in range(self._drawn(per_step * sum(volumes))):
                topic = self._chance.choices(topics, volumes)[0]
                posts.append(self._post(len(posts), step, self._says(topic, part), topic.name))
            for _ in range(self._drawn(per_step * 0.08)):
                posts.append(self._post(len(posts), step, self._spam(part), "spam"))
        return posts

    def _drawn(self, mean: float) -> int:
        return int(mean) + (self._chance.random() < mean % 1)

    def _post(self, number: int, step: int, text: str, topic: str) -> tuple[str, datetime, str, str]:
        at = _START + step * _STEP + timedelta(milliseconds=self._chance.randrange(10_000))
        return str(number), at, text, topic

    def _says(self, topic: _Topic, part: float) -> str:
        chance = self._chance
        words = [
            _ranked(topic.words, chance) if chance.random() < 0.4 else _ranked(self._common, chance)
            for _ in range(chance.randint(4, 9))
        ]
        alive = [tag for tag, born in topic.tags if born <= part]
        tags = [_ranked(alive, chance) for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3)))]
        if chance.random() < 0.12:
            tags.append(chance.choice(_MOODS))
        return " ".join((*words, *dict.fromkeys(tags)))

    def _spam(self, part: float) -> str:
        """Half of it takes whatever is popular, half has taken one hashtag of each event for its own, from the middle on."""
        chance = self._chance
        event = chance.choice(self._events)
        alive = [tag for tag, born in event.tags if born <= part]
        is_hijacker = part > 0.4 and chance.random() < 0.5
        tags = [event.tags[5][0]] if is_hijacker else [chance.choice(_RIDERS), _ranked(alive, chance), chance.choice(_MOODS)]
        words = [f"offer{chance.randrange(20)}" for _ in range(3)] + [_ranked(self._common, chance) for _ in range(3)]
        return " ".join((*words, *tags))


def _category(tag: str, event: str) -> Category:
    if tag in _COUNTRIES:
        return Category.POSSIBLY
    return Category.RELATED if tag.isascii() else Category.UNKNOWN


def _ranked(values: Sequence[str], chance: Random) -> str:
    """One of them, the first ones more often: the n-th in proportion to 1 / n."""
    weights = list(accumulate(1 / rank for rank in range(1, len(values) + 1)))
    return values[bisect(weights, chance.random() * weights[-1], hi=len(values) - 1)]
