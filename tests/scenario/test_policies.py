"""The policies in the real engine: what they learn is in the database, and a walk survives a restart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bowerbird.analysis import sampling
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.policies import RANKERS
from bowerbird.policies.by_value.rates import decoded
from bowerbird.policies.graph_walks.walking import Step, steps_in
from bowerbird.ports import Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
SMALL = WorldSettings(accounts=60, seed=5, following=8.0, longest_history=200)
TWO_STAGE = """
flow.seeds = ["profiles"]
flow.facets.profiles.ranker = "two_stage"
flow.facets.profiles.revisit = "10m"
flow.facets.timeline.ranker = "two_stage"
flow.edges = [{from = "profiles", to = "timeline", take = "asked", when = "news"}]
"""
WALK = """
flow.seeds = ["following"]
flow.facets.following.ranker = "{name}"
flow.facets.followers.ranker = "{name}"
"""


def in_laboratory(work: Callable[[Laboratory], Awaitable[Any]], world: WorldSettings = SMALL, dialect: str = "twitter_v1") -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect=dialect, world=world), clock))

    return run_virtual(main, start=START)


def popular(laboratory: Laboratory) -> str:
    """An open account that follows somebody."""
    truth = laboratory.service.truth
    hides = laboratory.service.world.people.hides_network
    is_fit = (truth.is_available(n, START) and not hides[n] and len(truth.following(n, START)) > 3 for n in range(60))
    return laboratory.keys()[list(is_fit).index(True)]


def are_linked(laboratory: Laboratory, one: str, other: str) -> bool:
    """Whether one followed the other at the beginning or at the end of the crawl."""
    truth, (a, b) = laboratory.service.truth, map(laboratory.service.account, (one, other))
    return any(b in truth.following(a, at) or a in truth.following(b, at) for at in (START, laboratory.clock.now()))


async def trace(database: Database) -> list[Step]:
    async with database.reading() as tx:
        rows = await tx.fetch(
            "select target, memory from tasks where lane in (select lane from lanes where facet = 'following') order by task"
        )
    return [step for row in rows for step in steps_in(row["target"], row["memory"])]


async def column(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


async def missing(laboratory: Laboratory, database: Database, until: datetime) -> set[str]:
    """Posts of the crawl's time that a visitor could see at its end and that are not stored, opted-out people left aside."""
    now = laboratory.clock.now()
    opted_out = "select key from user_keys join users on users.user_no = user_keys.user_no where opts_out = 1"
    left_alone = set(await column(database, opted_out))
    wanted: set[str] = set()
    for number, key in enumerate(laboratory.keys()):
        if laboratory.service.truth.is_available(number, now) and key not in left_alone:
            wanted |= {post for post, gone in laboratory.service.posts_to_find(key, START, until, now).items() if gone is None}
    assert wanted
    stored = [*await column(database, "select id from posts"), *await column(database, "select key from post_keys")]
    return wanted - {key.removeprefix("x:") for key in stored}


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("mastodon")])
def test_two_stages_bring_the_days_posts_and_remember_who_writes(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan(TWO_STAGE, laboratory.keys(), 'stop.duration = "12h"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            assert not await missing(laboratory, crawl.database, laboratory.clock.now() - timedelta(hours=1))
            lookups = (
                "select memory from tasks where memory is not null and lane in (select lane from lanes where facet = 'profiles')"
            )
            rates = [decoded(memory) for memory in await column(crawl.database, lookups)]
            assert len(rates) > 30
            assert max(each.per_day for each in rates if each) > 20 * min(each.per_day for each in rates if each)
        assert laboratory.service.limiter.refused == 0

    in_laboratory(work, dialect=dialect)


@pytest.mark.parametrize("name", ["mhrw", "rwrw", "frontier"])
def test_a_walk_goes_from_account_to_account_along_relations_that_exist(name: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan(WALK.format(name=name), [popular(laboratory)], "stop.calls = 60")
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            steps = await trace(crawl.database)
        walkers = {step.walker for step in steps}
        assert len(walkers) == (1 if name == "mhrw" else 20)
        for walker in walkers:
            way = [step.node for step in sorted(steps) if step.walker == walker]
            assert all(here == there or are_linked(laboratory, here, there) for here, there in pairwise(way))
        taken = sampling.walks(steps, lambda node, degree: degree, is_uniform=name == "mhrw")
        assert sampling.mean(taken) > 1

    in_laboratory(work)


def test_a_walk_goes_on_where_it_stood_after_a_restart(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        found = []
        for calls in (20, 40):
            plan = laboratory.plan(
                WALK.format(name="rwrw"), [popular(laboratory)], f"stop.calls = {calls}", store=str(tmp_path / "walk.db")
            )
            async with laboratory.crawl(plan) as crawl:
                await laboratory.run(crawl)
                found.append(await trace(crawl.database))
        before, after = found
        assert set(before) < set(after)
        assert len({(step.walker, step.clock) for step in after}) == len(after)
        assert {step.walker for step in after} == {step.walker for step in before}

    in_laboratory(work)


OTHERS = sorted(RANKERS.keys() - {"mhrw", "rwrw", "frontier", "two_stage", "fifo"})


@pytest.mark.parametrize("name", ["two_stage", *long("fifo", *OTHERS)])
def test_every_ranker_asks_every_timeline_in_the_real_engine(name: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        flow = f'flow.seeds = ["timeline"]\nflow.facets.timeline.ranker = "{name}"\n'
        async with laboratory.crawl(laboratory.plan(flow, laboratory.keys(), "stop.calls = 400")) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                rows = await tx.fetch("select visits from tasks")
        assert len(rows) == 60
        assert min(row["visits"] for row in rows) >= 1

    in_laboratory(work)
