"""A call ends once, whoever ends it, and nothing of an answer that came too late is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs
from work_scene import MINUTE, SECOND, Scene, play

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.life.recovery import Recovery
from bowerbird.crawl.work.bookkeeping import Bookkeeping, QueryLog, Timings
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.db import open_database
from bowerbird.errors import Fenced
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import (
    Answer,
    Answered,
    Ask,
    Call,
    CallReport,
    Charge,
    Lease,
    Leased,
    Limit,
    Loss,
    Outcome,
    Page,
)
from bowerbird.ports import Database, Transaction, WorkSource
from bowerbird.store.forgetting.requests import Forgetter, Wish


async def _as_it_is(scene: Scene, source: LocalWorkSource) -> WorkSource:
    return source


def run(work: Callable[[Scene], Awaitable[None]], database_url: str) -> None:
    play(work, database_url, _as_it_is)


async def lease_one(scene: Scene, source: WorkSource, *keys: str) -> Lease:
    while True:
        work = await source.lease(scene.offer(*keys))
        if isinstance(work, Leased):
            return work.leases[0]
        await scene.wait(SECOND)


async def recover(scene: Scene) -> None:
    """What a process does once in a second."""

    def me() -> int:
        return scene.worker

    frontier = TaskFrontier(scene.database, me, lease=3 * MINUTE, call=MINUTE)
    (crawl,) = await scene.rows("select crawl from crawls")
    recovery = Recovery(QueryLog(crawl["crawl"], me), RateLimits(pace=False), frontier, crawl["crawl"])
    async with scene.database.transaction() as tx:
        await recovery.recover(tx, scene.worker, scene.clock.now())


def test_answer_of_call_booked_as_lost_is_refused(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", "1")
        lease = await lease_one(scene, source, "key")
        # The lease has run out, and no other worker has taken the task yet.
        await scene.wait(lease.until - lease.leased_at + SECOND)
        await recover(scene)
        with pytest.raises(Fenced):
            await source.settle(lease, scene.answer("posts 3"))
        assert await scene.calls() == [("lost", "lost")]
        assert await scene.posts() == []
        (crawl,) = await scene.rows("select calls, items from crawls")
        assert (crawl["calls"], crawl["items"]) == (0, 0)

    run(work, database_url)


def test_drop_of_call_booked_as_lost_leaves_its_tasks_alone(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source("key")
        await scene.add("profile", "1")
        lease = await lease_one(scene, source, "key")
        await scene.wait(lease.until - lease.leased_at + SECOND)
        await recover(scene)
        assert await source.drop(lease, Loss("failed", "a test", sets_back=True)) == 0
        (task,) = await scene.rows("select attempts, failure from tasks")
        assert (task["attempts"], task["failure"]) == (0, None)

    run(work, database_url)


def test_expire_of_unconfirmed_call_spares_another_call_with_its_number(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", "1")
        lease = await lease_one(scene, source)
        # After a crash PostgreSQL may give the number of a call that it has lost to another one.
        former = structs.replace(lease, leased_at=lease.leased_at - timedelta(seconds=5))
        log = QueryLog(1, lambda: scene.worker)
        async with scene.database.transaction() as tx:
            await log.expire(tx, [former], scene.clock.now())
        await recover(scene)
        assert await scene.calls() == [("flying", None)]

    run(work, database_url)


def test_lease_after_somebody_was_forgotten_skips_tasks_held_in_memory(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        source = await scene.source()
        await scene.add("timeline", *map(str, range(12)))
        # Leases that follow each other closely claim tasks ahead.
        for _ in range(2):
            await lease_one(scene, source)
        held = await scene.rows("select target from tasks where state = 'leased' order by task")
        wish = Wish(who="a test", why="a test", names=frozenset({"user x:9"}))
        await Forgetter(scene.database, scene.clock).forget(wish)
        lease = await lease_one(scene, source)
        assert len(held) == 3
        assert lease.ask.targets[0] not in {row["target"] for row in held}

    run(work, database_url)


NOW = datetime(2026, 1, 5, 12, 1, tzinfo=UTC)
CHARGE = Charge("token", 1, Limit(bucket="token", allowance=5, window=15 * MINUTE))


async def is_anybody_waiting(database: Database) -> bool:
    async with database.reading() as tx:
        return bool(await tx.fetch("select 1 from pg_stat_activity where wait_event_type = 'Lock'"))


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "lost"])
async def test_end_of_call_locks_the_call_before_its_limits(migrated_url: str, is_answered: bool) -> None:
    """Recovery locks in this order; the other order deadlocks."""
    database = await open_database(migrated_url, RealClock())
    async with database.transaction() as tx:
        worker = await registry.enrol_worker(tx, "crawl", NOW)
    books = Bookkeeping(
        crawl=1,
        database=database,
        clock=RealClock(),
        frontier=TaskFrontier(database, lambda: worker, lease=3 * MINUTE, call=MINUTE),
        ledgers=RateLimits(pace=False),
        log=QueryLog(1, lambda: worker),
    )
    async with database.transaction() as tx:
        ask = Ask(facet="profiles", targets=("1",))
        call = await books.begin(
            tx,
            1,
            Call(
                worker=worker,
                ask=ask,
                credential=None,
                charges=(CHARGE,),
                leased_at=NOW,
                until=NOW + MINUTE,
            ),
            NOW,
        )

    async def end(tx: Transaction) -> bool:
        if not is_answered:
            return await books.lose(tx, call, Loss("lost", "a test"), NOW)
        answer = Answer(status=200, sent_at=NOW, received_at=NOW)
        report = CallReport(facet="profiles", outcome=Outcome.OK, results=0, new_items=0)
        try:
            await books.end(tx, Answered(call, answer, Page()), report, Timings(), NOW)
        except Fenced:
            return False
        return True

    async def end_late() -> bool:
        async with database.transaction() as tx:
            return await end(tx)

    async with database.transaction() as tx:
        assert await books.log.lose(tx, call.call, "lost", "recovered", NOW)
        late = asyncio.create_task(end_late())
        while not late.done() and not await is_anybody_waiting(database):
            pass
        await books.ledgers.lose(tx, call.charges, NOW)
    assert not await late
    async with database.reading() as tx:
        (ledger,) = await tx.fetch("select in_flight, spent from ledgers")
    assert (ledger["in_flight"], ledger["spent"]) == (0, 1)
    await database.close()
