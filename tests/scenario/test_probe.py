"""What a probe learns of the accounts it was asked about, beside the truth."""

from __future__ import annotations

from datetime import timedelta
from statistics import fmean

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.planning.probe import Found, probe
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.settings import to_ms

WORLD = WorldSettings(accounts=400, seed=5, following=8.0, posts_per_day=5.0, history=timedelta(days=5))
SEEDS = 200


@pytest.mark.parametrize("dialect", ["twitter_v1", "weibo"])
def test_a_probe_counts_its_seeds_and_not_those_whom_they_pass_on(dialect: str) -> None:
    async def main(clock: VirtualClock) -> tuple[Found, list[int]]:
        laboratory = Laboratory(Setup(dialect=dialect, world=WORLD), clock)
        world, now = laboratory.service.world, to_ms(clock.now())
        there = [world.post_count(account, now) for account in range(SEEDS) if world.exists(account, now)]
        plan = laboratory.plan('flow = "timelines"', laboratory.keys()[:SEEDS])
        return await probe(plan, laboratory.outside(), 12), there

    found, there = run_virtual(main, start=WORLD.start)
    assert found.accounts == len(there)
    assert found.posts == pytest.approx(fmean(there), rel=0.01)
