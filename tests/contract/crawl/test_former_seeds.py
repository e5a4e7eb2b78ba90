"""Former seeds in the queues of a crawl, on both databases; and what is asked at every start takes no longer with the years."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import to_micros
from bowerbird.crawl.life import moved_service, registry
from bowerbird.crawl.seeding import former
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Service
from bowerbird.ports import Database, Transaction

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


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


async def test_what_a_former_seed_led_to_rests_unless_something_named_leads_there_too(database: Database) -> None:
    frontier = TaskFrontier(database, lambda: 0, lease=timedelta(minutes=3), call=timedelta(minutes=1))
    async with database.transaction() as tx:
        crawl, profile, profiles = await lanes(tx)
        gone, kept = await task(tx, profile, "@gone"), await task(tx, profile, "@kept")
        found = [await task(tx, profiles, key, by=await call(tx, crawl, profile, f"@{key}")) for key in ("gone", "kept")]
        stranger = await task(tx, profiles, "stranger", depth=1)
        told = await former.read_former(tx, "c", {("sim", "@kept")})
        assert (told.targets, set(told.tasks), told.back) == (("@gone",), {gone, found[0]}, ())
        assert (await former.read_former(tx, "c", {("sim", "@kept"), ("sim", "gone")})).tasks == (gone,), "named by its key now"
        await former.put_to_rest(tx, frontier, told, NOW)
        ready = [row["task"] for row in await tx.fetch("select task from tasks where ready = 1 order by task")]
        assert ready == [kept, found[1], stranger]
        assert await former.read_former(tx, "c", {("sim", "@kept")}) == former.FormerSeeds()
        again = await former.read_former(tx, "c", {("sim", "@kept"), ("sim", "@gone")})
        assert again.back == (gone,)
        await former.take_up(tx, again, NOW)
        row = await tx.fetch_one("select ready, state from tasks where task = ?", gone)
        assert row is not None
        assert (row["ready"], row["state"]) == (1, "waiting")


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
