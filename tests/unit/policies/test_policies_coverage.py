"""What the revisit policies are worth on one small world, call for call: the order of policies.md, without an engine."""

from __future__ import annotations

import pytest
from posting_world import DAY, World, in_two_stages, one_stage

from bowerbird.policies import ranker
from bowerbird.policies.by_value.index import Index
from bowerbird.policies.by_value.two_stage import Fetch, Lookup

CALLS_A_DAY = 384
BATCH = 25
PAGE = 20


@pytest.fixture(scope="module")
def world() -> World:
    # Not the world that the steps of `echo` were chosen on (seed 1).
    return World(400, 4 * DAY, seed=3)


@pytest.fixture(scope="module")
def shares(world: World) -> dict[str, float]:
    """As TwitterEcho asked: a call shows the newest post of each of 25 people; two stages may ask for timelines instead."""
    return {
        "circular": one_stage(world, ranker("circular"), 1, CALLS_A_DAY, BATCH),
        "echo": one_stage(world, ranker("echo"), 1, CALLS_A_DAY, BATCH),
        "index": one_stage(world, Index(page=1), 1, CALLS_A_DAY, BATCH),
        "two_stage": in_two_stages(world, (Lookup(), Fetch(reach=PAGE)), PAGE, CALLS_A_DAY, BATCH),
    }


def test_the_world_is_as_uneven_as_the_published_one(world: World) -> None:
    counts = sorted((len(posts) for posts in world.posts.values()), reverse=True)
    assert 0.55 < sum(count == 0 for count in counts) / 400 < 0.75
    assert 0.3 < sum(counts[:9]) / world.total < 0.5


def test_each_policy_captures_clearly_more_than_the_one_before(shares: dict[str, float]) -> None:
    assert 0.4 < shares["circular"] < 0.65
    assert shares["echo"] > shares["circular"] + 0.1
    assert shares["index"] > shares["echo"] + 0.03
    assert shares["two_stage"] > shares["index"] + 0.1


def test_two_stages_miss_almost_nothing(shares: dict[str, float]) -> None:
    assert shares["two_stage"] >= 0.99


def test_a_quarter_of_the_calls_hurts_two_stages_less_when_they_choose_whom_to_look_up(world: World) -> None:
    ours = in_two_stages(world, (Lookup(), Fetch(reach=PAGE)), PAGE, CALLS_A_DAY // 4, BATCH)
    blind = in_two_stages(world, (ranker("circular"), ranker("fifo")), PAGE, CALLS_A_DAY // 4, BATCH)
    assert ours > blind + 0.05


def test_asking_timelines_one_by_one_the_index_captures_more_than_the_circle(world: World) -> None:
    circle = one_stage(world, ranker("circular"), PAGE, 300)
    assert one_stage(world, Index(page=PAGE), PAGE, 300) > circle + 0.05
