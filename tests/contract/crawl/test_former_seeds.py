"""Retired and resumed seeds in the queues of a crawl, on both databases; and statements that must use an index."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import to_micros
from bowerbird.crawl.life import moved_service, registry
from bowerbird.crawl.seeding import former
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Reason, Service
from bowerbird.ports import Database, Transaction

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
REASON = Reason("user", "the crawl file no longer names it")


async def task(tx: Transaction, lane: int, target: str, *, depth: int = 0, by: int | None = None) -> int:
    row = await tx.fetch_one(
        "insert into tasks (lane, target, ready, priority, due, state, depth, added_at, added_by) "
        "values (?, ?, 1, 0, ?, 'waiting', ?, ?, ?) returning task",
        *(lane, target, to_micros(NOW), depth, to_micros(NOW), by),
    )
    assert row is not None
    return int(row["task"])


async def call(tx: Transaction, crawl: int, lane: int, target: str) -> int:
    row = await tx.fetch_one(
        "insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, outcome) "
        "values (?, ?, 'profile', 1, 'settled', '', 1, ?, 0, 0, 'ok') returning call",
        *(crawl, lane, target),
    )
    assert row is not None
    return int(row["call"])


async def lanes(tx: Transaction) -> tuple[int, int, int]:
    """A crawl, and its lanes for handles and for accounts."""
    crawl = (await registry.enrol_crawl(tx, "c", "{}", "{}", NOW)).crawl
    service = await registry.enrol_service(tx, Service(name="sim", provider="mastodon", base="https://one.example"), "mastodon")
    return (
        crawl,
        await registry.enrol_lane(tx, crawl, service, "profile"),
        await registry.enrol_lane(tx, crawl, service, "profiles"),
    )


def frontier_of(database: Database) -> TaskFrontier:
    return TaskFrontier(database, lambda: 0, lease=timedelta(minutes=3), call=timedelta(minutes=1))


async def ready(tx: Transaction) -> list[int]:
    return [row["task"] for row in await tx.fetch("select task from tasks where ready = 1 order by task")]


async def test_retired_seed_takes_along_what_it_alone_led_to(database: Database) -> None:
    async with database.transaction() as tx:
        crawl, profile, profiles = await lanes(tx)
        await task(tx, profile, "@gone")
        kept = await task(tx, profile, "@kept")
        found = [await task(tx, profiles, key, by=await call(tx, crawl, profile, f"@{key}")) for key in ("gone", "kept")]
        stranger = await task(tx, profiles, "stranger", depth=1)
        seeds = {("sim", "@kept")}
        retired = await former.retire_seeds_except(tx, frontier_of(database), "c", seeds, REASON, NOW)
        assert retired == former.Retired(seeds=1, tasks=2)
        assert await ready(tx) == [kept, found[1], stranger]
        again = await former.retire_seeds_except(tx, frontier_of(database), "c", seeds, REASON, NOW)
        assert again == former.Retired()


async def test_account_stays_if_a_seed_that_stays_names_it_too(database: Database) -> None:
    async with database.transaction() as tx:
        crawl, profile, profiles = await lanes(tx)
        await task(tx, profile, "@gone")
        found = await task(tx, profiles, "gone", by=await call(tx, crawl, profile, "@gone"))
        retired = await former.retire_seeds_except(tx, frontier_of(database), "c", {("sim", "gone")}, REASON, NOW)
        assert retired == former.Retired(seeds=1, tasks=1)
        assert await ready(tx) == [found]


async def test_seed_with_nothing_left_to_request_is_not_retired(database: Database) -> None:
    async with database.transaction() as tx:
        _, _, profiles = await lanes(tx)
        done = await task(tx, profiles, "done")
        await tx.execute("update tasks set ready = 0, due = null, state = 'asleep' where task = ?", done)
        assert await former.retire_seeds_except(tx, frontier_of(database), "c", (), REASON, NOW) == former.Retired()


async def test_resumed_seeds_are_the_retired_ones_that_are_named(database: Database) -> None:
    async with database.transaction() as tx:
        _, profile, _ = await lanes(tx)
        named = await task(tx, profile, "@named")
        await task(tx, profile, "@other")
        await former.retire_seeds_except(tx, frontier_of(database), "c", (), REASON, NOW)
        assert await ready(tx) == []
        assert await former.resume_seeds(tx, "c", {("sim", "@named")}, NOW) == 1
        assert await ready(tx) == [named]
        assert await former.resume_seeds(tx, "c", {("sim", "@named")}, NOW) == 0


@pytest.mark.parametrize(("index", "statement"), [("calls_good", moved_service.GOOD_ANSWER), ("tasks_(of_)?seeds", former.SEEDS)])
async def test_no_start_reads_the_whole_log_or_all_queues(database: Database, index: str, statement: str) -> None:
    async with database.transaction() as tx:
        _, _, profiles = await lanes(tx)
        for number in range(50):
            await task(tx, profiles, str(number), depth=1)
        if database.dialect == "postgresql":
            # Whatever other tests left behind in the same tables is not what is asked about.
            await tx.execute("analyze tasks, calls")
            await tx.execute("set local enable_seqscan = off")
        explain = "explain query plan" if database.dialect == "sqlite" else "explain"
        value = 1 if statement is moved_service.GOOD_ANSWER else "c"
        rows = await tx.fetch(f"{explain} {statement}", value)
        plan = " ".join(str(tuple(row.values()) if hasattr(row, "values") else tuple(row)) for row in rows)
    assert re.search(index, plan), plan
