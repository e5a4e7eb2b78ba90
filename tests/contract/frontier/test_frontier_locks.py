"""Leases and row locks of the frontier while two workers write at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bowerbird.clock import RealClock, from_micros
from bowerbird.db import open_database
from bowerbird.errors import Failure
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Draw, Placement, Progress, Settled, Task, Turn
from bowerbird.ports import Database, Transaction

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE, CALL = timedelta(minutes=2), timedelta(seconds=45)
LANE = 7


def frontier_of(database: Database, worker: int = 1) -> TaskFrontier:
    return TaskFrontier(database, lambda: worker, lease=LEASE, call=CALL)


async def add(database: Database, tx: Transaction, *targets: str, wakes: bool = False) -> None:
    arrivals = [(Arrival(lane=LANE, target=target, wakes=wakes), Placement(0.0, NOW)) for target in targets]
    await frontier_of(database).add(tx, arrivals, None, NOW)


async def leased(database: Database, count: int) -> Sequence[Task]:
    async with database.transaction() as tx:
        return await frontier_of(database).lease(tx, Turn(LANE), [Draw(count)], NOW)


def asleep(task: Task) -> Settled:
    return Settled(task=task, progress=Progress(), placement=Placement(0.0, None))


async def states(database: Database) -> dict[str, str]:
    async with database.reading() as tx:
        return {row["target"]: row["state"] for row in await tx.fetch("select target, state from tasks")}


async def test_wake_of_leased_task_keeps_it_from_other_workers(database: Database) -> None:
    async with database.transaction() as tx:
        await add(database, tx, "a")
    assert len(await leased(database, 1)) == 1
    async with database.transaction() as tx:
        await add(database, tx, "a", wakes=True)
        assert not await frontier_of(database, worker=2).lease(tx, Turn(LANE), [Draw(1)], NOW)


async def test_close_keeps_leased_task_settleable(database: Database) -> None:
    async with database.transaction() as tx:
        await add(database, tx, "a", "b")
    (task,) = await leased(database, 1)
    async with database.transaction() as tx:
        await frontier_of(database).close(tx, LANE, Failure("not_offered", "not offered"))
    assert await states(database) == {"a": "leased", "b": "failed"}
    async with database.transaction() as tx:
        await frontier_of(database).settle(tx, [asleep(task)], NOW)
    assert await states(database) == {"a": "asleep", "b": "failed"}


async def test_give_back_of_lost_lease_leaves_the_new_holder_its_task(database: Database) -> None:
    async with database.transaction() as tx:
        await add(database, tx, "a")
    tasks = await leased(database, 1)
    later, other = NOW + LEASE, frontier_of(database, worker=2)
    async with database.transaction() as tx:
        await other.sweep(tx, later)
        (again,) = await other.lease(tx, Turn(LANE), [Draw(1)], later)
    async with database.transaction() as tx:
        await frontier_of(database).give_back(tx, tasks, later)
    async with database.transaction() as tx:
        await other.settle(tx, [asleep(again)], later)
    assert await states(database) == {"a": "asleep"}


async def test_claimed_task_is_not_handed_out_when_its_lease_ends_before_the_call(
    database: Database,
) -> None:
    async with database.transaction() as tx:
        await add(database, tx, *map(str, range(12)))
    frontier = frontier_of(database)
    handed_out = 0
    # The first leases follow each other closely, so that more is claimed than is asked for.
    for seconds in (0.0, 0.1, 0.2, 0.3, 60.0, 74.0, 76.0, 119.0):
        now = NOW + timedelta(seconds=seconds)
        async with database.transaction() as tx:
            tasks = await frontier.lease(tx, Turn(LANE), [Draw(1)], now)
            rows = {row["task"]: row["due"] for row in await tx.fetch("select task, due from tasks")}
        handed_out += len(tasks)
        assert all(from_micros(rows[task.task]) >= now + CALL for task in tasks)
    assert handed_out == 8


@pytest.fixture
async def postgres(migrated_url: str) -> AsyncIterator[Database]:
    """PostgreSQL: SQLite has one writer."""
    opened = await open_database(migrated_url, RealClock())
    yield opened
    await opened.close()


async def started(database: Database, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin `work`; return when it waits for a lock or has ended."""
    task = asyncio.create_task(work)
    while not task.done():
        async with database.reading() as tx:
            if await tx.fetch("select 1 from pg_stat_activity where wait_event_type = 'Lock'"):
                break
    return task


async def test_new_targets_in_opposite_orders_do_not_deadlock(postgres: Database) -> None:
    async def other() -> None:
        async with postgres.transaction() as tx:
            await add(postgres, tx, "c", "b", "a")

    async with postgres.transaction() as tx:
        await add(postgres, tx, "b")
        waiting = await started(postgres, other())
        await add(postgres, tx, "c")
    await waiting
    assert set(await states(postgres)) == {"a", "b", "c"}


async def test_settle_locks_its_tasks_in_the_order_of_targets(postgres: Database) -> None:
    async with postgres.transaction() as tx:
        await add(postgres, tx, "b", "a")
    tasks = await leased(postgres, 2)

    async def settle() -> None:
        async with postgres.transaction() as tx:
            await frontier_of(postgres).settle(tx, [asleep(task) for task in tasks], NOW)

    # Adding locks targets in this order too.
    lock = "select task from tasks where target = ? for update"
    async with postgres.transaction() as tx:
        await tx.fetch(lock, "a")
        waiting = await started(postgres, settle())
        await tx.fetch(lock, "b")
    await waiting
    assert await states(postgres) == {"a": "asleep", "b": "asleep"}


async def test_workers_that_wake_each_others_leased_tasks_do_not_deadlock(postgres: Database) -> None:
    async with postgres.transaction() as tx:
        await add(postgres, tx, "a", "b")
    first, second = await leased(postgres, 2)

    async def other() -> None:
        async with postgres.transaction() as tx:
            await add(postgres, tx, "a", wakes=True)
            await frontier_of(postgres).settle(tx, [asleep(second)], NOW)

    async with postgres.transaction() as tx:
        await add(postgres, tx, "b", wakes=True)
        waiting = await started(postgres, other())
        await frontier_of(postgres).settle(tx, [asleep(first)], NOW)
    await waiting
    # Each was woken while it was leased: the second one, which settled later, and the first one
    # after its lease had ended.
    assert await states(postgres) == {"a": "waiting", "b": "waiting"}
