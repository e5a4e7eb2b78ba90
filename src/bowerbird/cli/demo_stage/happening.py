"""An event that is just happening in a simulated world, whatever the time of day."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.passing.days import Writers
from bowerbird.simulated.world.people.population import populate
from bowerbird.simulated.world.posts.tags import FIRST_EVENT_TAG, event_of, tag_name
from bowerbird.simulated.world.settings import to_ms

_AGES = range(2, 16)
"""Days for which the world may exist already: on which of them it is seen decides which events are on."""
_NEAR = timedelta(hours=1)


class Happening(Struct, frozen=True):
    """A world, and the hashtag of the event that most is written about in these hours."""

    world: WorldSettings
    tag: str


def happening(now: datetime, seed: int) -> Happening:
    """The liveliest event of all worlds of this seed that are so many days old now."""
    found = [each for age in _AGES for each in _events(_world(now, seed, age), now, age)]
    _, tag, world = max(found, key=lambda each: each[0])
    return Happening(world, tag)


def _events(world: WorldSettings, now: datetime, day: int) -> list[tuple[int, str, WorldSettings]]:
    writing = Writers(world, populate(world)).day(day)
    near = (writing.ms > to_ms(now - _NEAR)) & (writing.ms < to_ms(now + _NEAR)) & (writing.tag >= FIRST_EVENT_TAG)
    counted = Counter(event_of(int(tag)) for tag in writing.tag[near])
    return [(count, tag_name(tag), world) for tag, count in counted.items()]


def _world(now: datetime, seed: int, age: int) -> WorldSettings:
    """Few people who write a great deal: a small world in which there is something to hear every second."""
    return WorldSettings(
        seed=seed, accounts=2_000, start=now - timedelta(days=age), posts_per_day=300, likes_per_post=0.05, following=15,
        history=timedelta(days=1), longest_history=5, warm=1,
    )  # fmt: skip
