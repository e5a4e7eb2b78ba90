"""PostgreSQL through asyncpg: for crawls on more than one machine."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg

from bowerbird.db.addresses import check_address, public, without_password
from bowerbird.db.migrate import migrate
from bowerbird.db.texts import all_storable, storable
from bowerbird.errors import Busy, DiskFull, StoreError
from bowerbird.ports import Clock, Row, Transaction

T = TypeVar("T")

_PATIENCE = 60
"""Seconds within which one statement of a running crawl must be answered."""
_UPGRADE = 7 * 24 * 3600
"""Seconds that one statement of an upgrade may take: it may write every row of a large store anew."""
_DISK = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError, asyncpg.ReadOnlySQLTransactionError)
_BUSY = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.InterfaceError,
    ConnectionError,
    OSError,
)


@functools.cache
def numbered(sql: str) -> str:
    """The same statement with `$1, $2 …` for its question marks (our SQL has none inside literals)."""
    parts = sql.split("?")
    return parts[0] + "".join(f"${n}{part}" for n, part in enumerate(parts[1:], start=1))


class PostgresTransaction:
    """Statements on one pooled connection; each may take as long as the connection allows, or `patience` seconds."""

    def __init__(self, connection: Any, clock: Clock, patience: float | None = None) -> None:
        self._connection = connection
        self._clock = clock
        self._patience = patience

    async def _outside(self, work: Awaitable[T]) -> T:
        with self._clock.outside():
            return await work

    async def execute(self, sql: str, *values: Any) -> int:
        tag: str = await self._outside(self._connection.execute(numbered(sql), *storable(values), timeout=self._patience))
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        await self._outside(self._connection.executemany(numbered(sql), all_storable(rows), timeout=self._patience))

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        rows: Sequence[Row] = await self._outside(
            self._connection.fetch(numbered(sql), *storable(values), timeout=self._patience)
        )
        return rows

    async def fetch_one(self, sql: str, *values: Any) -> Row | None:
        row: Row | None = await self._outside(self._connection.fetchrow(numbered(sql), *storable(values), timeout=self._patience))
        return row


class PostgresDatabase:
    """A pool of connections; any number of processes may share the database."""

    dialect = "postgresql"

    def __init__(self, pool: Any, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock

    @classmethod
    async def open(cls, where: str, clock: Clock, patience: float = _PATIENCE) -> PostgresDatabase:
        check_address(where)
        try:
            with clock.outside():
                # JIT costs more than it saves on statements of a millisecond.
                pool = await asyncpg.create_pool(
                    where, min_size=1, max_size=4, command_timeout=patience, server_settings={"jit": "off"}
                )
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
            raise StoreError(
                f"cannot reach PostgreSQL at {public(where)}: {without_password(where, str(error))}. "
                "Does it run, and are user, password and database name right?"
            ) from error
        return cls(pool, clock)

    @asynccontextmanager
    async def transaction(self, patience: float | None = None) -> AsyncIterator[Transaction]:
        async with self._connection() as connection:
            transaction = connection.transaction()
            with self._clock.outside():
                await transaction.start()
            try:
                yield PostgresTransaction(connection, self._clock, patience)
            except BaseException:
                await self._end(transaction.rollback())
                raise
            await self._end(transaction.commit())

    async def _end(self, ending: Awaitable[None]) -> None:
        with self._clock.outside():
            await ending

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        async with self._connection() as connection:
            yield PostgresTransaction(connection, self._clock)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        try:
            with self._clock.outside():
                connection = await self._pool.acquire()
            try:
                yield connection
            finally:
                with self._clock.outside():
                    await self._pool.release(connection)
        except _DISK as error:
            raise DiskFull(f"PostgreSQL cannot write: {error}. Free some space on its disk.") from error
        except _BUSY as error:
            raise Busy(f"PostgreSQL did not answer: {error}") from error

    def any(self, kind: str) -> str:
        # Not `= any(…)`: of 5,000 members PostgreSQL would compare each with every row where it can join.
        return f"in (select value from unnest(?::{kind}[]) as listed (value))"

    def members(self, values: Sequence[Any]) -> Any:
        return list(values)

    async def migrate(self) -> None:
        async with self.transaction(patience=_UPGRADE) as tx:
            # Two processes may start at once: the second waits here and then finds nothing to do.
            await tx.execute("select pg_advisory_xact_lock(7254103)")
            await migrate(tx, self.dialect, self._clock.now())

    async def close(self) -> None:
        with self._clock.outside():
            await self._pool.close()
