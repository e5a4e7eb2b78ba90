"""A storm: for an hour posts come by orders of magnitude faster. Queues grow, nothing is lost, nobody is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import Recorded, World, WorldSettings
from bowerbird.simulated.world.posts.content import visibility
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.tags import tag_number
from bowerbird.simulated.world.settings import DAY, to_ms
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
STORM = START + 2 * HOUR
TAG = "music"
PEOPLE = 600
SETTINGS = WorldSettings(accounts=PEOPLE, seed=3, following=8.0, likes_per_post=0.0, longest_history=5)
AN_HOUR, IN_THE_STORM = 20, 30_000


def stormy() -> World:
    """Twenty posts an hour for ten days, and thirty thousand in one of them."""
    rng = np.random.default_rng(4)
    begin, usual = to_ms(START) - 9 * DAY, 10 * 24 * AN_HOUR
    ms = np.concatenate([begin + rng.integers(0, 10 * DAY, usual), to_ms(STORM) + rng.integers(0, DAY // 24, IN_THE_STORM)])
    # A few write much, most once: as in the storms of the dynamic collector.
    author = np.minimum(rng.pareto(0.6, len(ms)) * 8, PEOPLE - 1).astype(np.int64)
    order = np.argsort(ms)
    return World(SETTINGS, Recorded(author[order], ms[order], np.zeros(len(ms), bool), PEOPLE))


def said(laboratory: Laboratory, until: datetime) -> dict[str, str]:
    """Post and author of everything under the tag that a visitor can see now and that was written by then."""
    crowd, dialect = Crowd(laboratory.service.world), laboratory.service.dialect
    rows = crowd.posts(to_ms(laboratory.clock.now()), crowd.with_tag(tag_number(TAG)), oldest=to_ms(START))
    shown = [row for row in rows if visibility(row.number, SETTINGS.seed) == "public" and row.number < _number_at(until)]
    return {dialect.post_key(row.number): dialect.account_key(row.author) for row in shown}


def _number_at(when: datetime) -> int:
    return (to_ms(when) - 1_288_834_974_657) << 22


async def column(crawl: Crawl, sql: str) -> list[Any]:
    async with crawl.database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


async def asked(crawl: Crawl, facet: str, more: str = "") -> set[str]:
    sql = f"select t.target from tasks t join lanes l on l.lane = t.lane where l.facet = '{facet}' {more}"
    return set(await column(crawl, sql))


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("mastodon")])
def test_a_storm_fills_the_queues_and_loses_nothing(dialect: str) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=SETTINGS, tokens=1), clock, world=stormy())
        plan = laboratory.plan('flow = "topic"', [f"#{TAG}"], 'stop.duration = "5h"')
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            truth = said(laboratory, clock.now() - timedelta(minutes=10))
            ids = await column(crawl, "select id from posts where deleted_at is null union select key from post_keys")
            assert len(truth) > 150, "orders of magnitude more than the handful of an hour"
            assert truth.keys() - {key.removeprefix("x:") for key in ids} == set()
            hidden = {key.removeprefix("x:") for key in await column(crawl, "select id from users where opts_out = 1")}
            hidden |= set(await column(crawl, "select k.key from user_keys k join users u using (user_no) where u.opts_out = 1"))
            assert set(truth.values()) - hidden <= await asked(crawl, "profiles", "and t.visits > 0")
            await check_order(crawl, truth)
        assert laboratory.service.limiter.refused == 0

    async def check_order(crawl: Crawl, truth: dict[str, str]) -> None:
        """Lists are the bottleneck; as far as they lag behind, who wrote again has been read rather than who wrote once."""
        waiting, read = await asked(crawl, "followers", "and t.visits = 0"), await asked(crawl, "followers", "and t.visits > 0")
        writers = list(truth.values())
        again = {key for key in writers if writers.count(key) > 1} & (waiting | read)
        once = (set(writers) & (waiting | read)) - again
        assert len(again & read) / len(again) >= len(once & read) / len(once)

    run_virtual(main, start=START)
