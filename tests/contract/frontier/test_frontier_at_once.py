"""Several workers lease at the same time: nobody gets what another has, and nobody waits for another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Draw, Placement, Progress, Settled, Task, Turn
from bowerbird.ports import Database, Transaction

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LANE = 7


def frontier_of(database: Database, worker: int) -> TaskFrontier:
    return TaskFrontier(database, lambda: worker, lease=timedelta(minutes=2), call=timedelta(seconds=45))


async def add(database: Database, *targets: str) -> None:
    arrivals = [(Arrival(lane=LANE, target=target), Placement(0.0, NOW)) for target in targets]
    async with database.transaction() as tx:
        await frontier_of(database, 1).add(tx, arrivals, None, NOW)


async def lease(frontier: TaskFrontier, tx: Transaction, count: int) -> Sequence[Task]:
    return await frontier.lease(tx, Turn(LANE), [Draw(count)], NOW)


async def work(database: Database, worker: int, rounds: int, got: list[tuple[int, int]]) -> None:
    """Leases and settles; notes task and token of every lease before others can have the task."""
    frontier = frontier_of(database, worker)
    for _ in range(rounds):
        async with database.transaction() as tx:
            tasks = await lease(frontier, tx, 3)
        got += [(task.task, task.token) for task in tasks]
        ended = [Settled(task=task, progress=Progress(), placement=Placement(0.0, NOW)) for task in tasks]
        async with database.transaction() as tx:
            await frontier.settle(tx, ended, NOW)
    async with database.transaction() as tx:
        await frontier.release(tx, NOW)


async def test_the_token_of_a_task_grows_with_each_of_its_leases_whoever_leases_it(database: Database) -> None:
    await add(database, *(str(n) for n in range(10)))
    got: list[tuple[int, int]] = []
    await asyncio.gather(*(work(database, worker, 15, got) for worker in range(1, 5)))
    tokens: dict[int, list[int]] = {}
    for task, token in got:
        tokens.setdefault(task, []).append(token)
    assert len(got) >= 40
    assert len(set(got)) == len(got)
    assert all(mine == sorted(mine) for mine in tokens.values())


async def test_the_tokens_go_on_above_those_of_an_older_store(database: Database) -> None:
    await add(database, "a")
    async with database.transaction() as tx:
        await tx.execute("update tasks set fence = 41")
        (task,) = await lease(frontier_of(database, 1), tx, 1)
    assert task.token == 42


async def test_a_worker_that_is_leasing_holds_up_nobody_else(migrated_url: str) -> None:
    database = await open_database(migrated_url, RealClock())
    await add(database, "a", "b")
    async with database.transaction() as one, database.transaction() as other:
        first = await lease(frontier_of(database, 1), one, 1)
        second = await lease(frontier_of(database, 2), other, 1)
    assert [task.target for task in (*first, *second)] == ["a", "b"]
    await database.close()
