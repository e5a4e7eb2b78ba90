"""Recovery looks at two tables while other workers go on: whatever they do between two of its looks, no live call is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.life.recovery import Recovery
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.db import open_database
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Ask, Call, Charge, Limit, Outcome
from bowerbird.ports import Database, Row, Transaction

NOW = datetime(2026, 1, 5, 12, 1, tzinfo=UTC)
CHARGE = Charge("token", 1, Limit(bucket="token", allowance=5, window=timedelta(minutes=15)))
EARLIER = Charge("account", 1, Limit(bucket="account", allowance=5, window=timedelta(minutes=15)))
"""Its bucket is locked before the other one."""
STEPS = range(1, 7)
"""The statements of a recovery that finds nothing."""


class Interrupted:
    """A transaction in which, after so many statements, somebody else comes between."""

    def __init__(self, tx: Transaction, after: int, between: Callable[[], Awaitable[None]]) -> None:
        self._tx = tx
        self._left = after
        self._between = between

    async def execute(self, sql: str, *values: Any) -> int:
        return await self._then(await self._tx.execute(sql, *values))

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        await self._then(await self._tx.execute_many(sql, rows))

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        return await self._then(await self._tx.fetch(sql, *values))

    async def fetch_one(self, sql: str, *values: Any) -> Row | None:
        return await self._then(await self._tx.fetch_one(sql, *values))

    def after_commit(self, then: Callable[[], object]) -> None:
        self._tx.after_commit(then)

    def on_rollback(self, undo: Callable[[], object]) -> None:
        self._tx.on_rollback(undo)

    @property
    def has_happened(self) -> bool:
        return self._left <= 0

    async def _then(self, result: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            await self._between()
        return result


class Worker:
    """One process that shares the database with another."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._number = number
        self._log = QueryLog(1, lambda: number)
        self._ledgers = RateLimits(pace=False)

    async def begin(self) -> int:
        async with self._database.transaction() as tx:
            charges = tuple(await self._ledgers.charge(tx, [CHARGE], NOW, is_made=True))
            ask = Ask(facet="profiles", targets=("1",))
            until = NOW + timedelta(minutes=2)
            call = Call(worker=self._number, ask=ask, credential=None, charges=charges, leased_at=NOW, until=until)
            return await self._log.begin(tx, 1, call)

    async def charge(self, *charges: Charge) -> None:
        async with self._database.transaction() as tx:
            await self._ledgers.charge(tx, charges, NOW, is_made=True)

    async def end(self, call: int) -> None:
        async with self._database.transaction() as tx:
            assert await self._log.hung_up(tx, call, Outcome.OK, "", NOW)
            await self._ledgers.lose(tx, [CHARGE], NOW)

    async def end_late(self, call: int) -> None:
        """As a settle does: first the call, then its limits, unless somebody has lost it before."""
        async with self._database.transaction() as tx:
            if await self._log.hung_up(tx, call, Outcome.OK, "", NOW):
                await self._ledgers.lose(tx, [CHARGE], NOW)

    async def recover(self, after: int, between: Callable[[], Awaitable[None]]) -> list[str]:
        frontier = TaskFrontier(self._database, lambda: self._number, lease=timedelta(minutes=2), call=timedelta(seconds=45))
        recovery = Recovery(self._log, self._ledgers, frontier, 1)
        async with self._database.transaction() as tx:
            interrupted = Interrupted(tx, after, between)
            words = await recovery.recover(interrupted, self._number, NOW)
            assert interrupted.has_happened
            return words


@pytest.fixture
async def database(migrated_url: str) -> AsyncIterator[Database]:
    """PostgreSQL: in SQLite nobody else writes meanwhile."""
    opened = await open_database(migrated_url, RealClock())
    yield opened
    await opened.close()


@pytest.fixture
async def workers(database: Database) -> tuple[Worker, Worker]:
    async with database.transaction() as tx:
        numbers = [await registry.enrol_worker(tx, name, NOW) for name in ("one", "two")]
        # Elsewhere, so that they are not taken for remains of this very process.
        await tx.execute("update workers set host = 'elsewhere.example'")
    return Worker(database, numbers[0]), Worker(database, numbers[1])


async def held(database: Database) -> tuple[int, int]:
    async with database.reading() as tx:
        (ledger,) = await tx.fetch("select in_flight, spent from ledgers")
        return ledger["in_flight"], ledger["spent"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_call_that_begins_between_two_looks_is_not_booked_as_spent(
    database: Database, workers: tuple[Worker, Worker], step: int
) -> None:
    mine, yours = workers
    await yours.end(await yours.begin())

    async def between() -> None:
        await yours.begin()

    assert await mine.recover(step, between) == []
    assert await held(database) == (1, 2)


@pytest.mark.parametrize("step", STEPS)
async def test_a_call_that_ends_between_two_looks_is_booked_once(
    database: Database, workers: tuple[Worker, Worker], step: int
) -> None:
    mine, yours = workers
    call = await yours.begin()

    async def between() -> None:
        await yours.end(call)

    assert await mine.recover(step, between) == []
    assert await held(database) == (0, 1)


@pytest.mark.parametrize("step", range(1, 8))
async def test_an_answer_that_comes_late_and_a_recovery_of_several_calls_do_not_wait_for_each_other(
    database: Database, workers: tuple[Worker, Worker], step: int
) -> None:
    mine, yours = workers
    calls = [await yours.begin() for _ in range(2)]
    async with database.transaction() as tx:
        await tx.execute("update calls set expires_at = 0")
    late: list[asyncio.Task[None]] = []

    async def between() -> None:
        late.append(asyncio.create_task(yours.end_late(calls[1])))
        while not late[0].done() and not await _is_anybody_waiting(database):
            pass

    assert await mine.recover(step, between) == []
    await late[0]
    assert await held(database) == (0, 2)


@pytest.mark.parametrize("step", range(1, 11))
async def test_recovery_locks_limits_in_the_order_of_a_charge(
    database: Database, workers: tuple[Worker, Worker], step: int
) -> None:
    """A lost call holds one bucket, a call that does not exist an earlier one; another process charges both meanwhile."""
    mine, yours = workers
    await yours.begin()
    await yours.charge(EARLIER)
    async with database.transaction() as tx:
        await tx.execute("update calls set expires_at = 0")
    beside: list[asyncio.Task[None]] = []

    async def between() -> None:
        beside.append(asyncio.create_task(yours.charge(EARLIER, CHARGE)))
        while not beside[0].done() and not await _is_anybody_waiting(database):
            pass

    await mine.recover(step, between)
    await beside[0]
    async with database.reading() as tx:
        assert [row["spent"] for row in await tx.fetch("select spent from ledgers order by bucket")] == [2, 2]


async def _is_anybody_waiting(database: Database) -> bool:
    async with database.reading() as tx:
        return await tx.fetch_one("select 1 as found from pg_stat_activity where wait_event_type = 'Lock' limit 1") is not None
