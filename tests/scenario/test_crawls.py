"""Whole crawls in virtual time against a world whose truth is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Outcome
from bowerbird.ports import Database
from bowerbird.simulated.faults import Faults, Outage
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
SMALL = WorldSettings(accounts=60, seed=5, following=8.0, longest_history=400)
SMALLER = WorldSettings(accounts=25, seed=5, following=8.0, longest_history=200)
DIALECTS = pytest.mark.parametrize("dialect", ["mastodon", "twitter_v1"])
ONCE_FLOW = """
flow.seeds = ["profiles"]
flow.facets.profiles.ranker = "fifo"
flow.facets.timeline.ranker = "fifo"
flow.edges = [{from = "profiles", to = "timeline", take = "asked", when = "news"}]
"""
"""Each profile once, each timeline to its end: a crawl that finishes."""


def in_laboratory(setup: Setup, work: Callable[[Laboratory], Awaitable[Any]]) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(setup, clock))

    return run_virtual(main, start=START)


async def column(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


OPTED_OUT = "select key from user_keys join users on users.user_no = user_keys.user_no where opts_out = 1"


async def missing_posts(laboratory: Laboratory, crawl: Crawl, since: datetime, until: datetime) -> set[str]:
    """Posts that a visitor could have seen at the end and that are not stored."""
    network = "x:" if laboratory.service.dialect.name == "twitter_v1" else ""
    keys = await column(crawl.database, "select key from post_keys" if not network else "select id from posts")
    stored = {key.removeprefix(network) for key in keys}
    now = laboratory.clock.now()
    opted_out = set(await column(crawl.database, OPTED_OUT))
    wanted: set[str] = set()
    for number, key in enumerate(laboratory.keys()):
        if laboratory.service.truth.is_available(number, now) and key not in opted_out:
            found = laboratory.service.posts_to_find(key, since, until, now)
            wanted |= {post for post, deleted in found.items() if deleted is None or deleted > now}
    assert wanted
    return wanted - stored


@DIALECTS
def test_a_timelines_crawl_collects_every_post_within_reach_and_no_call_is_refused(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys())) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
            assert not await missing_posts(laboratory, crawl, START - timedelta(days=3000), START)
            assert crawl.tally.given_up == 0
        assert laboratory.service.limiter.refused == 0

    in_laboratory(Setup(dialect=dialect, world=SMALL), work)


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("mastodon")])
def test_a_day_of_revisiting_brings_the_days_posts_and_asks_only_those_with_news(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), 'stop.duration = "24h"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            end = laboratory.clock.now()
            assert not await missing_posts(laboratory, crawl, START, end - timedelta(hours=1))
            wakes = await column(
                crawl.database, "select visits from tasks where lane in (select lane from lanes where facet = 'timeline')"
            )
            looks = await column(
                crawl.database, "select visits from tasks where lane in (select lane from lanes where facet = 'profiles')"
            )
            here = [laboratory.service.truth.is_available(number, START) for number in range(len(laboratory.keys()))]
            # Who is not to be had rests for a day.
            assert sum(look >= 90 for look in looks) >= sum(here)
            assert sum(wakes) < sum(looks) / 4
        assert laboratory.service.limiter.refused == 0

    in_laboratory(Setup(dialect=dialect, world=SMALLER), work)


def test_the_same_seed_gives_the_same_crawl_to_the_last_row() -> None:
    async def work(laboratory: Laboratory) -> list[list[Any]]:
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), 'stop.duration = "6h"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                tables = [
                    "select * from tasks order by task",
                    "select * from users order by user_no",
                    "select * from posts order by post_no",
                    "select * from ledgers order by bucket",
                    "select call, credential, leased_at, received_at, outcome, results, new_items from calls order by call",
                ]
                return [[tuple(row) for row in await tx.fetch(sql)] for sql in tables]

    first = in_laboratory(Setup(world=SMALLER, tokens=2), work)
    second = in_laboratory(Setup(world=SMALLER, tokens=2), work)
    assert first == second
    assert all(first)


@DIALECTS
def test_a_graph_crawl_stores_exactly_the_relations_that_exist(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "graph"', laboratory.keys(3), "filters.max_depth = 9")
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
            listed = await _listed(laboratory, crawl)
            stored = {edge for edge in await _edges(laboratory, crawl) if set(edge) <= listed}
            # People follow and unfollow while the crawl goes on: an edge may be seen if it was there at either end.
            first, last = (_true_edges(laboratory, listed, at) for at in (START, laboratory.clock.now()))
            ever = _all_edges(laboratory, listed, START) | _all_edges(laboratory, listed, laboratory.clock.now())
            assert len(listed) > 35
            assert len(first & last) > 100
            assert first & last <= stored
            assert stored <= ever
        assert laboratory.service.limiter.refused == 0

    in_laboratory(Setup(dialect=dialect, world=SMALL), work)


async def _number_by_user(laboratory: Laboratory, crawl: Crawl) -> dict[int, int]:
    if laboratory.service.dialect.name == "twitter_v1":
        sql = "select user_no, substr(id, 3) as key from users"
    else:
        sql = "select user_no, key from user_keys"
    async with crawl.database.reading() as tx:
        return {row["user_no"]: laboratory.service.account(row["key"]) for row in await tx.fetch(sql)}


async def _edges(laboratory: Laboratory, crawl: Crawl) -> set[tuple[int, int]]:
    numbers = await _number_by_user(laboratory, crawl)
    async with crawl.database.reading() as tx:
        rows = await tx.fetch("select source, target from relations where removed_at is null")
    return {(numbers[row["source"]], numbers[row["target"]]) for row in rows}


async def _listed(laboratory: Laboratory, crawl: Crawl) -> set[int]:
    """Accounts both of whose lists were read to their end."""
    numbers = await _number_by_user(laboratory, crawl)
    both = await column(
        crawl.database, "select user_no from listings where ended_at is not null group by user_no having count(*) = 2"
    )
    return {numbers[user] for user in both}


def _true_edges(laboratory: Laboratory, listed: set[int], at: datetime) -> set[tuple[int, int]]:
    """Follows between listed accounts that are open and of which at least one does not hide its network."""
    truth, hides = laboratory.service.truth, laboratory.service.world.people.hides_network
    seen = {account for account in listed if truth.is_available(account, at)}
    return {(source, target) for source, target in _all_edges(laboratory, seen, at) if not (hides[source] and hides[target])}


def _all_edges(laboratory: Laboratory, among: set[int], at: datetime) -> set[tuple[int, int]]:
    truth = laboratory.service.truth
    return {(account, other) for account in among for other in truth.following(account, at) if other in among}


@DIALECTS
def test_hydrating_brings_the_living_posts_and_reports_the_deleted(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        now = laboratory.clock.now()
        posts: dict[str, datetime | None] = {}
        for number, key in enumerate(laboratory.keys()):
            if laboratory.service.truth.is_available(number, now):
                posts |= laboratory.service.posts_to_find(key, START - timedelta(days=20), START, now)
        deleted = {key for key, at in posts.items() if at is not None and at <= now}
        assert deleted
        async with laboratory.crawl(laboratory.plan('flow = "hydrate"', list(posts))) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
            living = await column(crawl.database, "select id from posts where deleted_at is null")
            gone = await column(crawl.database, "select id from deletions where subject = 'post'")
            assert len(gone) == len(deleted)
            assert len(living) >= len(posts) - len(deleted)
        assert laboratory.service.limiter.refused == 0

    in_laboratory(Setup(dialect=dialect, world=SMALL), work)


KINDS = (
    *("error_500", "bad_gateway", "unavailable", "slow", "reset", "lost_before", "lost_after", "cut", "truncated"),
    *("html_200", "no_headers", "remaining_low", "limited_bare"),
)
TROUBLE = Faults(
    rates=dict.fromkeys(KINDS, 0.02),
    seed=3,
    skew=timedelta(seconds=37),
    outages=(Outage(START + timedelta(minutes=20), START + timedelta(minutes=50)),),
)


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("mastodon")])
def test_a_server_that_fails_in_every_way_delays_the_crawl_but_loses_nothing(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys())) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
            assert crawl.tally.given_up == 0
            assert not await missing_posts(laboratory, crawl, START - timedelta(days=3000), START)
            seen = set(await column(crawl.database, "select outcome from errors"))
            assert {Outcome.OVERLOADED, Outcome.UNREADABLE, Outcome.UNANSWERED} <= seen
            assert await column(crawl.database, "select count(*) from calls where state = 'flying'") == [0]
        assert laboratory.service.limiter.refused == 0

    in_laboratory(Setup(dialect=dialect, world=SMALL, faults=TROUBLE), work)


def test_one_malformed_item_is_quarantined_alone() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys())) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            raws = await column(crawl.database, "select raw from quarantine")
            posts = await column(crawl.database, "select count(*) from posts")
            assert raws
            assert all(raws)
            assert posts[0] > 20 * len(raws)

    in_laboratory(Setup(world=SMALLER, faults=Faults(rates={"wrong_types": 0.2})), work)


def test_a_revoked_token_is_put_aside_and_the_other_carries_on() -> None:
    async def work(laboratory: Laboratory) -> None:
        revoked, _good = list(laboratory.service.tokens)
        laboratory.service.tokens.mark(revoked.value, "revoked")
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys())) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert await column(crawl.database, "select credential from credentials where state = 'refused'") == ["user1"]
            assert not await missing_posts(laboratory, crawl, START - timedelta(days=3000), START)

    in_laboratory(Setup(world=SMALLER, tokens=2), work)


def test_a_crawl_whose_every_token_is_refused_ends_with_advice_and_goes_on_when_it_is_renewed(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        (token,) = laboratory.service.tokens
        laboratory.service.tokens.mark(token.value, "revoked")
        plan = laboratory.plan(ONCE_FLOW, laboratory.keys(), store=str(tmp_path / "crawl.db"))
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            assert (ending.state, ending.reason.code) == ("failed", "credential_refused")
        laboratory.service.tokens.mark(token.value, "good")
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert not await missing_posts(laboratory, crawl, START - timedelta(days=3000), START)

    in_laboratory(Setup(world=SMALLER), work)


def test_a_budget_of_calls_is_never_overdrawn() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan('flow = "timelines"', laboratory.keys(), "stop.calls = 25")) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
            assert ending.reason.code == "limit_reached"
        assert laboratory.service.calls == 25

    in_laboratory(Setup(world=SMALL), work)


def test_several_credentials_share_the_work_and_none_is_refused() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys())) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                sql = "select credential, count(*) as calls from calls where credential is not null group by credential"
                rows = await tx.fetch(sql)
            used = {row["credential"]: row["calls"] for row in rows}
            assert set(used) == {"user1", "user2", "user3"}
            assert min(used.values()) > sum(used.values()) / 6
        assert laboratory.service.limiter.refused == 0

    in_laboratory(Setup(world=SMALLER, tokens=3), work)


def test_the_same_crawl_on_postgresql_stores_the_same(migrated_url: str) -> None:
    async def work(laboratory: Laboratory, store: str) -> list[Any]:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys(12), store=store)) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            return [
                await column(crawl.database, sql)
                for sql in ("select id from users order by id", "select id from posts order by id", "select count(*) from calls")
            ]

    assert in_laboratory(Setup(world=SMALLER), lambda lab: work(lab, ":memory:")) == in_laboratory(
        Setup(world=SMALLER), lambda lab: work(lab, migrated_url)
    )


def test_an_outage_of_a_day_ends_no_crawl_and_loses_nothing() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys(5))) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert crawl.tally.given_up == 0
            assert laboratory.clock.now() > START + timedelta(hours=24)
            assert await column(crawl.database, "select count(*) from posts") != [0]

    outage = Outage(START, START + timedelta(hours=24))
    in_laboratory(Setup(world=SMALL, faults=Faults(outages=(outage,))), work)


def test_a_stray_refusal_of_a_good_token_is_forgiven() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(ONCE_FLOW, laboratory.keys())) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert Outcome.BAD_TOKEN in await column(crawl.database, "select outcome from errors")
            assert await column(crawl.database, "select credential from credentials") == []

    in_laboratory(Setup(world=SMALLER, faults=Faults(rates={"bad_token": 0.02})), work)


def test_a_listing_cut_short_by_max_pages_is_not_begun_again() -> None:
    async def work(laboratory: Laboratory) -> None:
        flow = ONCE_FLOW + "flow.facets.timeline.max_pages = 1\n"
        async with laboratory.crawl(laboratory.plan(flow, laboratory.keys())) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            visits = await column(
                crawl.database, "select visits from tasks where lane in (select lane from lanes where facet = 'timeline')"
            )
            assert set(visits) == {1}

    in_laboratory(Setup(world=SMALLER), work)


def test_a_crawl_does_not_wait_for_the_tasks_of_another_in_the_same_store(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        store = str(tmp_path / "shared.db")
        async with laboratory.crawl(
            laboratory.plan('flow = "timelines"', laboratory.keys(5), 'stop.duration = "5m"', store=store)
        ) as crawl:
            await laboratory.run(crawl)
        before = laboratory.clock.now()
        plan = laboratory.plan(ONCE_FLOW + 'name = "another"\n', laboratory.keys(2), store=store)
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
        assert laboratory.clock.now() - before < timedelta(minutes=9)

    in_laboratory(Setup(world=SMALL), work)


def test_given_up_targets_get_another_chance_with_the_next_start(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan(ONCE_FLOW, laboratory.keys(5), store=str(tmp_path / "crawl.db"))
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            assert crawl.tally.given_up > 0
            assert ending.reason.code == "some_given_up"
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).reason.code == "nothing_left"
            assert await column(crawl.database, "select count(*) from tasks where state = 'failed'") == [0]

    outage = Outage(START, START + timedelta(hours=3), "html_200")
    in_laboratory(Setup(world=SMALL, faults=Faults(outages=(outage,))), work)
