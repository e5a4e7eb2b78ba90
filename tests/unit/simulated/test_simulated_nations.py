"""A world of nations: profiles as people fill them in, and posts in the languages that they write."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bowerbird.simulated.twitter_v1.payloads import Payloads
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.nations.people import residence
from bowerbird.simulated.world.nations.tables import EMIGRATION, JOKES, NATIONS, SHARES
from bowerbird.simulated.world.nations.tongues import NAMES, STYLES
from bowerbird.simulated.world.people.vocabulary import TOWNS, WORDS_PER_LANGUAGE
from bowerbird.simulated.world.settings import to_ms

HOME = 3


@pytest.fixture(scope="module")
def world() -> World:
    return World(WorldSettings(seed=5, accounts=2_000, mixed=True))


def test_tables_fit_the_towns_of_the_world() -> None:
    assert len(NATIONS) == len(SHARES) == len(EMIGRATION) == len(TOWNS)
    assert sum(SHARES) == pytest.approx(1)
    assert all(len(words) == WORDS_PER_LANGUAGE for words in STYLES.values())


def test_locations_are_as_careless_as_those_of_people(world: World) -> None:
    now = to_ms(world.settings.start)
    told = Counter(_kind(world.profiles.at(account, now).location) for account in range(len(world)))
    assert 0.14 < told["empty"] / len(world) < 0.22
    assert 0.12 < told["joke"] / len(world) < 0.2


def _kind(location: str) -> str:
    return "empty" if not location else "joke" if location in JOKES else "other"


def test_some_live_abroad_and_write_at_the_hours_of_that_place(world: World) -> None:
    homes = world.people.community
    lives = np.array([residence(5, account, int(home)) for account, home in enumerate(homes)])
    away = lives != homes
    assert 0.02 < away.mean() < 0.1
    shifts = world.people.shift_ms / 3_600_000
    in_brazil = (homes == HOME) & (lives == 2)
    assert not in_brazil.any() or shifts[in_brazil].mean() < -1


def test_a_search_finds_what_the_posts_say(world: World) -> None:
    now = to_ms(world.settings.start)
    rows = [row for account in range(300) for row in world.timeline(account, now)]
    numbers = np.array([row.number for row in rows])
    says = [
        row.kind != 2 and "praia" in world.contents.words(row.number, world.contents.style(row.number)).split() for row in rows
    ]
    found = world.contents.saying(numbers, np.array([row.event for row in rows]), "praia")
    assert [bool(each) for each, row in zip(found, rows, strict=True) if row.kind != 2] == [
        each for each, row in zip(says, rows, strict=True) if row.kind != 2
    ]
    assert any(says)


def test_profiles_of_the_classic_api_carry_zone_and_language(world: World) -> None:
    payloads, now = Payloads(world), to_ms(world.settings.start)
    bodies = [payloads.user(account, now) for account in range(200)]
    assert any(b'"time_zone":"Lisbon"' in body and b'"utc_offset":0' in body for body in bodies)
    assert any(b'"time_zone":null' in body for body in bodies)
    assert all(b'"lang":null' not in body for body in bodies)


def test_other_worlds_are_as_they_were() -> None:
    plain = World(WorldSettings(seed=5, accounts=60))
    assert plain.profiles.at(0, to_ms(plain.settings.start)).time_zone == ""
    assert set(NAMES) >= {"pt-PT", "pt-BR"}
