"""Seeds that no service knows are told of: at the end of the run, in `gone` and in the completeness ledger, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.reports.completeness import Cause, read_entries
from bowerbird.reports.deletions import AbsentUser, read_deletions
from bowerbird.reports.seeds.unknown_seeds import closed_seeds, last_call, unknown_handles, unknown_seeds
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import World, WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=12, seed=338, following=3.0, posts_per_day=2.0, longest_history=20, history=timedelta(days=10))
NOBODY = {"bluesky": "@nobody.example.com"}


@pytest.mark.parametrize("flow", ["timelines", "graph"])
@pytest.mark.parametrize("dialect", ["mastodon", "twitter_v1", "x", "bluesky", "weibo"])
def test_a_handle_that_nobody_has_is_named_everywhere(dialect: str, flow: str) -> None:
    nobody = NOBODY.get(dialect, "@nobody_here")

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=WORLD), clock)
        plan = laboratory.plan(f'flow = "{flow}"', [nobody, *laboratory.keys()[:2]], "stop.calls = 8")
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            database = crawl.database
            assert await unknown_seeds(database, plan.name, 0) == [nobody]
            assert await unknown_seeds(database, "another crawl", 0) == []
            assert await unknown_seeds(database, plan.name, await last_call(database)) == [], "no news since then"
            absent = [line async for line in read_deletions(database, "users") if isinstance(line, AbsentUser)]
            assert [(line.id, line.reason, line.until) for line in absent] == [(nobody, "not_found", None)]
            (line,) = [entry async for _, entry in read_entries(database, ("user",)) if entry.subject == nobody]
            assert (line.captured, line.high, [part.cause for part in line.missing]) == (0, None, [Cause.DELETED])

    run_virtual(main, start=START)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))


@pytest.mark.parametrize("facet", ["timeline", "followers"])
def test_a_seed_whose_list_could_not_be_had_is_told_of_and_erases_nothing(store: str, facet: str) -> None:
    """The flow asks for lists alone: that one is not found says nothing of the account, but nobody should wonder in silence."""

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock)
        flow = f'flow.seeds = ["{facet}"]\nflow.facets.{facet}.ranker = "fifo"'
        plan = laboratory.plan(flow, ["123456789", laboratory.keys()[0]], "stop.calls = 6", store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            assert await unknown_seeds(crawl.database, plan.name, 0) == ["123456789"]
            assert [line async for line in read_deletions(crawl.database, "users")] == []
            async with crawl.database.reading() as tx:
                (short,) = await tx.fetch("select target, cause, detail from shortfalls")
            assert (short["target"], short["cause"], bool(short["detail"])) == ("123456789", "unknown", True)

    run_virtual(main, start=START)


def test_ids_and_handles_are_told_together_and_a_handle_that_is_found_later_no_longer(store: str) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock)
        seeds = ["@nobody_here", "123456789", laboratory.keys()[0]]
        plan = laboratory.plan('flow = "timelines"', seeds, "stop.calls = 6", store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            database = crawl.database
            assert await unknown_seeds(database, plan.name, 0) == ["@nobody_here", "123456789"]
            async with database.transaction() as tx:
                await tx.execute("update tasks set visited_at = visited_at + 1, visits = 2 where target = '@nobody_here'")
            assert await unknown_handles(database) == []

    run_virtual(main, start=START)


@pytest.mark.parametrize("flow", ["timelines", "graph"])
def test_suspended_seeds_are_told_as_suspended_and_not_as_not_found(flow: str) -> None:
    async def main(clock: VirtualClock) -> None:
        made = World(WORLD)
        for account in (3, 4):
            made.people.suspended[account] = WORLD.start_ms
            made.people.returned[account] = made.people.left[account] = 1 << 50
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock, world=made)
        handle = f"@{laboratory.service.dialect.handle_of(3, clock.now())}"
        key = laboratory.service.dialect.account_key(4)
        plan = laboratory.plan(f'flow = "{flow}"', [handle, key, laboratory.keys()[0]], "stop.calls = 12")
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            assert await closed_seeds(crawl.database, plan.name, 0) == {handle: "suspended", key: "suspended"}
            assert await unknown_seeds(crawl.database, plan.name, 0) == []

    run_virtual(main, start=START)
