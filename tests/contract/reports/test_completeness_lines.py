"""Whom and what the lines of the completeness ledger tell of, on both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Database
from bowerbird.reports.completeness import VIEWS, Cause, Entry, Total, read_entries, read_sums
from bowerbird.reports.completeness_accounts import HIDDEN
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.tags import FIRST_EVENT_TAG, NO_TAG, tag_name
from bowerbird.simulated.world.settings import to_ms
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=60, seed=338, following=5.0, posts_per_day=5.0, longest_history=120, history=timedelta(days=30))
POLLING = """
flow.seeds = ["hashtag"]
flow.facets.hashtag.revisit = "8h"
"""
STORED = """
select sum(case when p.deleted_at is null and coalesce(u.opts_out, 0) = 0 then 1 else 0 end) as captured,
    sum(case when p.deleted_at is null and u.opts_out = 1 then 1 else 0 end) as opted_out
from posts p join users u on u.user_no = p.author where {which}
"""
LISTED = "p.post_no in (select post_no from sightings)"


@pytest.fixture(params=["sqlite", *long("postgresql")])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))


def in_laboratory(work: Callable[[Laboratory], Awaitable[None]]) -> None:
    async def main(clock: VirtualClock) -> None:
        await work(Laboratory(Setup(dialect="mastodon", world=WORLD), clock))

    run_virtual(main, start=START)


def tags(laboratory: Laboratory) -> list[str]:
    """Those used most often before the start."""
    world, counts = laboratory.service.world, dict[int, int]()
    for account in range(len(world)):
        for row in world.all_rows(account, to_ms(START - timedelta(days=20)), to_ms(START)):
            if NO_TAG < row.tag < FIRST_EVENT_TAG:
                counts[row.tag] = counts.get(row.tag, 0) + 1
    return [f"#{tag_name(tag)}" for tag in sorted(counts, key=lambda tag: -counts[tag])]


async def lines(database: Database, by: str, crawl: str | None = None) -> list[Entry]:
    return [entry async for _, entry in read_entries(database, (by,), crawl)]


async def stored(crawl: Crawl, which: str = LISTED) -> tuple[int, int]:
    async with crawl.database.reading() as tx:
        (row,) = await tx.fetch(STORED.format(which=which))
    return int(row["captured"]), int(row["opted_out"])


def total(entries: Sequence[Entry]) -> Total:
    sums = Total()
    for entry in entries:
        sums.add(entry)
    return sums


def test_posts_of_authors_who_opted_out_are_missing_and_not_captured(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan(POLLING, tags(laboratory)[:6], "stop.calls = 40", store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            # Some came along with others: they have a day, but no query listed them.
            for by, which in (("query", LISTED), ("day", "1 = 1")):
                captured, opted_out = await stored(crawl, which)
                assert opted_out > 5
                entries = await lines(crawl.database, by)
                sums = total(entries)
                assert (by, sums.captured, sums.causes[Cause.OPTED_OUT]) == (by, captured, opted_out)
                parts = [part for entry in entries for part in entry.missing if part.cause is Cause.OPTED_OUT]
                assert len({part.why for part in parts}) == 1
                assert all(part.low == part.likely == part.high for part in parts)

    in_laboratory(work)


def test_what_two_crawls_list_for_the_same_query_is_counted_once_and_nothing_of_either_is_lost(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        words = tags(laboratory)
        for name, seeds in (("one", words[:4]), ("two", words[2:6])):
            plan = structs.replace(laboratory.plan(POLLING, seeds, "stop.calls = 12", store=store), name=name)
            async with laboratory.crawl(plan) as crawl:
                await laboratory.run(crawl)
                captured, _ = await stored(crawl)
                entries = await lines(crawl.database, "query")
                alone = [total(await lines(crawl.database, "query", each)).captured for each in ("one", "two")]
            await laboratory.clock.sleep_until(laboratory.clock.now() + timedelta(days=3))
        repeated = [(entry.crawl, entry.subject) for entry in entries if entry.is_repeated]
        assert len(entries) == 8
        assert {crawl for crawl, _ in repeated} == {"one"}
        assert len(repeated) == 2
        assert total(entries).captured == captured < sum(alone)

    in_laboratory(work)


def open_accounts(laboratory: Laboratory) -> list[int]:
    """Those with a few posts who may be collected."""
    world, now = laboratory.service.world, to_ms(START)
    people = world.people
    return [
        number
        for number in range(len(world))
        if world.is_open(number, now) and world.post_count(number, now) > 5
        if people.is_indexable[number] and not people.is_noindex[number] and not people.says_nobot[number]
    ]


def test_a_seed_that_waits_for_its_look_up_has_a_line_with_the_counter_that_is_known(store: str) -> None:
    """The first handle is resolved, and waits for the look-up by its key; the others were not asked about."""

    async def work(laboratory: Laboratory) -> None:
        names = [laboratory.service.dialect.handle_of(account, START) for account in open_accounts(laboratory)[:3]]
        # The first call asks the server what it is.
        plan = laboratory.plan('flow = "timelines"', [f"@{name}" for name in names], "stop.calls = 2", store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            entries = {entry.name.partition("@")[0]: entry for entry in await lines(crawl.database, "user")}
        assert entries.keys() == set(names)
        first, *others = (entries[name] for name in names)
        assert first.claimed is not None
        assert (first.low, first.likely, first.of(Cause.BUDGET)) == (first.claimed,) * 3
        assert first.claimed > 5
        assert [(entry.subject, entry.high) for entry in others] == [(f"@{name}", None) for name in names[1:]]
        assert {part.cause for entry in entries.values() for part in entry.missing} == {Cause.BUDGET}

    in_laboratory(work)


def test_a_list_that_is_shorter_than_its_counter_is_not_explained_like_posts(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        keys = [laboratory.service.dialect.account_key(account) for account in open_accounts(laboratory)]
        plan = laboratory.plan('flow = "graph"', keys, "stop.calls = 300", store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            entries = await lines(crawl.database, "user")
        whys = [part.why for entry in entries for part in entry.missing if part.cause is Cause.PROTECTED and part.likely]
        assert HIDDEN["followers"] in whys
        assert HIDDEN["posts"] not in whys

    in_laboratory(work)


def test_of_posts_asked_for_by_id_it_says_what_became_of_each(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan(POLLING, tags(laboratory)[:6], "stop.calls = 40")
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                keys = [row["key"] for row in await tx.fetch("select key from post_keys order by key limit 60")]
        asked = laboratory.plan('flow = "hydrate"', [*keys, "12345"], store=store)
        async with laboratory.crawl(asked) as crawl:
            await laboratory.run(crawl)
            (entry,) = await lines(crawl.database, "id")
            together = [line async for line in read_entries(crawl.database)]
            days = total([each for view, each in together if view == "day"])
            posts = await read_sums(crawl.database)
            assert (days.captured, days.deleted, days.causes[Cause.OPTED_OUT]) == (posts.captured, posts.deleted, posts.opted_out)
            assert posts.opted_out > 0
            assert together == [(view, each) for view in VIEWS for each in await lines(crawl.database, view)]
        assert entry.captured + entry.deleted + entry.likely == len(keys) + 1
        assert entry.of(Cause.DELETED) >= 1, "the one that never was"
        assert entry.of(Cause.OPTED_OUT) > 0
        assert entry.low == entry.likely == entry.high

    in_laboratory(work)
