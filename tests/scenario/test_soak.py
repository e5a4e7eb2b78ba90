"""A crawl of months in virtual time, whose process dies again and again: at the end it has what there was, and is no larger.

A day in the usual suite; `--months 3` in `make test-nightly`.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from power_cuts import run_until_killed

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.coverage.truth import captured, written
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.settings import to_ms

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=60, seed=6, following=5.0, likes_per_post=0.0, posts_per_day=3.0, longest_history=50)
LIVES_A_MONTH = 12
FLOW = """
flow.seeds = ["profiles"]
flow.facets.profiles = {ranker = "two_stage", weight = 2}
flow.facets.timeline = {ranker = "two_stage", weight = 3, max_pages = 1}
flow.edges = [{from = "profiles", to = "timeline", take = "asked", when = "news and not protected"}]
"""
LIMITS = {"together": {"allowance": 20, "window": timedelta(hours=1)}}


async def column(crawl: Crawl, sql: str, *values: Any) -> list[Any]:
    async with crawl.database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql, *values)]


def plan_of(laboratory: Laboratory, store: Path, length: timedelta) -> CrawlPlan:
    more = f'stop.duration = "{round(length / timedelta(minutes=1))}m"'
    plan = laboratory.plan(FLOW, laboratory.keys(), more, store=str(store))
    return structs.replace(plan, services=(structs.replace(plan.services[0], limits=LIMITS),))


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_months_of_crawling_with_a_dying_process_bring_what_there_was(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    months: float = pytestconfig.getoption("--months")
    length, chance = timedelta(days=30 * months), random.Random(2)
    deaths = sorted(START + length * chance.random() for _ in range(max(3, round(LIVES_A_MONTH * months))))

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="twitter_v1", world=WORLD), clock)
        plan = plan_of(laboratory, tmp_path / "soak.db", length)
        for death in deaths:
            await run_until_killed(laboratory, plan, death)
            # An hour or so until somebody starts it again.
            await clock.sleep_until(death + timedelta(minutes=chance.randrange(1, 90)))
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            await check(laboratory, crawl, clock.now())
        assert laboratory.service.limiter.refused == 0

    async def check(laboratory: Laboratory, crawl: Crawl, end: datetime) -> None:
        there = written(laboratory.service.world, START, end)
        async with crawl.database.reading() as tx:
            rows = await tx.fetch("select substr(id, 3) as key, found_at from posts where found_at <= ?", to_ms(end) * 1000)
        found = captured(there, {int(row["key"]): row["found_at"] // 1000 for row in rows}, (end - START) / timedelta(days=1))
        assert found.posts > 0.97
        assert await column(crawl, "select count(*) from calls where state = 'flying'") == [0]
        assert await column(crawl, "select count(*) from tasks where state = 'leased'") == [0]
        assert await column(crawl, "select count(*) from workers where ended_at is null") == [0]
        assert (await column(crawl, "select count(*) from tasks"))[0] <= 2 * WORLD.accounts
        assert await column(crawl, "select count(*) - count(distinct id) from posts") == [0]
        assert await column(crawl, "pragma integrity_check") == ["ok"]

    run_virtual(main, start=START)
