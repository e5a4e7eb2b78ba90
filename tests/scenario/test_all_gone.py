"""Ids that are all gone, in virtual time: a few calls, no trouble, and every one recorded as gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=12, seed=338, following=3.0, posts_per_day=2.0, longest_history=20, history=timedelta(days=10))
DIALECTS = ("mastodon", "twitter_v1", "weibo", "bluesky", "x")


def never_there(dialect: str, number: int) -> str:
    numeric = f"11000000000000{number:04}"
    return f"at://did:plc:{'a' * 20}{number:04}/app.bsky.feed.post/3k2aaaaaaaa2a" if dialect == "bluesky" else numeric


async def rows(crawl: Crawl, sql: str) -> list[Any]:
    async with crawl.database.reading() as tx:
        return list(await tx.fetch(sql))


@pytest.mark.parametrize(("dialect", "apps"), [*((dialect, 0) for dialect in DIALECTS), ("x", 1), ("twitter_v1", 1)])
def test_twenty_ids_that_are_all_gone_cost_a_handful_of_calls_and_no_trouble(dialect: str, apps: int) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=WORLD, tokens=1 - apps, app_tokens=apps), clock)
        plan = laboratory.plan('flow = "hydrate"', [never_there(dialect, number) for number in range(20)])
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            (gone,) = await rows(crawl, "select count(*) as posts from deletions where reason = 'not_found'")
            assert gone["posts"] == 20
            assert crawl.tally.calls <= 3
            assert set(crawl.tally.by_outcome) <= {"ok", "not_found"}
            assert await rows(crawl, "select * from errors") == []

    run_virtual(main, start=START)
