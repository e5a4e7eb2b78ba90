"""PostgreSQL through asyncpg: for crawls on more than one machine."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

import asyncpg

from bowerbird.db.addresses import check_address, public, without_password
from bowerbird.db.hooks import Hooks
from bowerbird.db.postgres.arrays import (
    asked_together,
    carried,
    columns,
    is_wide,
    names_any,
    over_arrays,
    together,
    written_table,
)
from bowerbird.db.shared_time import set_clock
from bowerbird.db.tables import create_tables
from bowerbird.db.texts import all_storable, storable
from bowerbird.errors import Busy, DiskFull, StoreError, Unreachable
from bowerbird.ports import Clock, Row, Transaction

T = TypeVar("T")
Kinds = dict[str, tuple[str, ...]]
"""As the server has told them: by statement the types of its values, by table those of its columns, by question the names of what
it answers."""

OURS = "bowerbird"
"""How our connections name themselves to the server."""
_PATIENCE = 60
"""Seconds within which one statement of a running crawl must be answered, and the next one follow it."""
_DISK = (asyncpg.DiskFullError, asyncpg.ReadOnlySQLTransactionError)
_BUSY = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.PostgresConnectionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TargetServerAttributeNotMatched,
    OSError,
)
"""Refusals that pass. Only what our own statements raise is held against this list: a missing file is no sleeping server."""
_AWAY = (
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.PostgresConnectionError,
    asyncpg.TargetServerAttributeNotMatched,
    OSError,
)
"""Errors of a connection to a server that is down, starting or full, or to a group of which no server takes writes."""


@functools.cache
def numbered(sql: str) -> str:
    """The same statement with `$1, $2 …` for its question marks (our SQL has none inside literals)."""
    parts = sql.split("?")
    return parts[0] + "".join(f"${n}{part}" for n, part in enumerate(parts[1:], start=1))


class PostgresTransaction(Hooks):
    """Statements on one pooled connection; each may take as long as the connection allows, or `patience` seconds. What is written
    with `execute_all` waits for the next statement that might see it, or for the commit: so it is sent in one go."""

    def __init__(self, connection: Any, clock: Clock, kinds: Kinds, patience: float | None = None) -> None:
        super().__init__()
        self._connection = connection
        self._kinds = kinds
        self._clock = clock
        self._patience = patience
        self._failure: BaseException | None = None
        self._waiting: list[tuple[str, list[list[Any] | None]]] = []
        self._tables: frozenset[str] = frozenset()
        """Those that are written by what waits."""

    async def flush(self) -> None:
        """Sends what waits."""
        if not self._waiting:
            return
        waiting, self._waiting, self._tables = self._waiting, [], frozenset()
        values = [array for _, arrays in waiting for array in arrays]
        await self._send(self._connection.execute, together(tuple(sql for sql, _ in waiting)), *values)

    async def _asked(self, question: Callable[..., Awaitable[Any]], sql: str, *values: Any) -> Any:
        await self.flush()
        return await self._send(question, sql, *values)

    async def _send(self, question: Callable[..., Awaitable[Any]], sql: str, *values: Any) -> Any:
        # Called in here: of a connection that is gone the pool says so at once, without anything to await.
        try:
            with self._clock.outside(), _translated(self._connection):
                return await question(numbered(sql), *values, timeout=self._patience)
        except asyncpg.PostgresError as error:
            raise await self._unless_changed(error) from error
        except BaseException as error:
            self._failure = self._failure or error
            raise

    async def _unless_changed(self, error: Exception) -> Exception:
        """The error, or where another process has changed the tables since we learned of them: to try again with new eyes."""
        if is_outdated(error):
            self._kinds.clear()
            await self._connection.reload_schema_state()
            error = Busy(f"PostgreSQL has other tables than before, which are looked at again: {error}")
        self._failure = self._failure or error
        return error

    def check(self) -> None:
        """Raises what the first failed statement did: the server has undone everything, and would take a commit all the same."""
        if self._failure is not None:
            raise self._failure

    async def execute(self, sql: str, *values: Any) -> int:
        tag: str = await self._asked(self._connection.execute, sql, *storable(values))
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        await self._asked(self._connection.executemany, sql, all_storable(rows))

    async def execute_all(self, writes: Sequence[tuple[str, Sequence[Sequence[Any]] | None]]) -> None:
        if not any(rows for _, rows in writes):
            return
        if self._tables and any(names_any(sql, self._tables) for sql, rows in writes if rows is not None):
            # In one statement it would not see what waits, and of two changes of one row the server makes only one.
            await self.flush()
        # Also those without rows, so that the text is the same every time and the server need not read it again.
        self._waiting += [await self._over_arrays(sql, rows) for sql, rows in writes if rows is not None]
        self._tables |= {written_table(sql) for sql, rows in writes if rows is not None}

    async def fetch_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> Sequence[Row]:
        statement, arrays = await self._over_arrays(sql, rows)
        fetched: Sequence[Row] = await self._asked(self._connection.fetch, statement, *arrays)
        return fetched

    async def fetch_all(self, questions: Sequence[tuple[str, Sequence[Any]]]) -> Sequence[Sequence[Row]]:
        texts = tuple(sql for sql, _ in questions)
        if self._tables and any(names_any(sql, self._tables) for sql in texts):
            await self.flush()
        names = [await self._columns_of(sql) for sql in texts]
        values = [value for _, values in questions for value in storable(values)]
        answers = (await self._send(self._connection.fetch, asked_together(texts), *values))[0]
        return [[dict(zip(of, row, strict=True)) for row in rows or ()] for of, rows in zip(names, answers, strict=True)]

    async def _over_arrays(self, sql: str, rows: Sequence[Sequence[Any]]) -> tuple[str, list[list[Any] | None]]:
        kinds, rows = await self._kinds_in(sql), all_storable(rows)
        if is_wide(sql) and (over := carried(sql, kinds, await self._kinds_of(written_table(sql)))) is not None:
            return over.sql, [over.rows(rows)]
        return over_arrays(sql, kinds), columns(rows, len(kinds))

    async def _kinds_in(self, sql: str) -> tuple[str, ...]:
        """The types of the values of a statement."""
        if sql not in self._kinds:
            prepared = await self._send(self._connection.prepare, sql)
            self._kinds[sql] = tuple(kind.name for kind in prepared.get_parameters())
        return self._kinds[sql]

    async def _kinds_of(self, table: str) -> tuple[str, ...]:
        """The types of the columns of a table."""
        if table not in self._kinds:
            prepared = await self._send(self._connection.prepare, f"select * from {table}")
            self._kinds[table] = tuple(column.type.name for column in prepared.get_attributes())
        return self._kinds[table]

    async def _columns_of(self, sql: str) -> tuple[str, ...]:
        """The names of what a question answers."""
        if sql not in self._kinds:
            prepared = await self._send(self._connection.prepare, sql)
            self._kinds[sql] = tuple(column.name for column in prepared.get_attributes())
        return self._kinds[sql]

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        rows: Sequence[Row] = await self._asked(self._connection.fetch, sql, *storable(values))
        return rows

    async def fetch_one(self, sql: str, *values: Any) -> Row | None:
        row: Row | None = await self._asked(self._connection.fetchrow, sql, *storable(values))
        return row

    async def fetch_columns(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        return list(zip(*await self.fetch(sql, *values), strict=True))


def _manner(patience: float) -> dict[str, str]:
    """How the server treats our sessions."""
    return {
        "application_name": OURS,
        # It costs more than it saves on statements of a millisecond.
        "jit": "off",
        # A machine that sleeps or is cut off in the middle of a transaction would keep its locks from all others.
        "idle_in_transaction_session_timeout": f"{patience * 1000:.0f}",
    }


def is_outdated(error: Exception) -> bool:
    """Whether a statement failed because the tables are no longer as it was told: a newer bowerbird has added to them."""
    is_other_row = isinstance(error, asyncpg.DatatypeMismatchError) and "number of columns" in str(error)
    return is_other_row or isinstance(error, asyncpg.InvalidCachedStatementError)


@contextmanager
def _translated(connection: Any) -> Iterator[None]:
    """What a statement raises, sorted by what the caller does next."""
    try:
        yield
    except asyncpg.OutOfMemoryError as error:
        hint = "Raise max_locks_per_transaction in its settings, give it more memory, or let fewer workers save at once."
        raise DiskFull(f"PostgreSQL has no room for what it must remember: {error}.", hint) from error
    except _DISK as error:
        raise DiskFull(f"PostgreSQL cannot write: {error}.", "Free some space on its disk.") from error
    except _BUSY as error:
        raise Busy(f"PostgreSQL did not answer: {error}") from error
    except asyncpg.OutdatedSchemaCacheError as error:
        raise asyncpg.InvalidCachedStatementError(str(error)) from error
    except asyncpg.InternalClientError as error:
        # The server has ended the session between two statements, and the driver is in the middle of hearing of it.
        if connection is None:
            raise
        with suppress(asyncpg.InterfaceError):
            connection.terminate()
        raise Busy(f"PostgreSQL did not answer: {error}") from error
    except asyncpg.InterfaceError as error:
        # It says so of values of a wrong kind as well, and those stay wrong.
        if connection is None or not _is_gone(connection):
            raise
        raise Busy(f"PostgreSQL did not answer: {error}") from error


def _is_gone(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        # The pool has taken it back already.
        return True


async def create_pool(where: str, patience: float = _PATIENCE, **options: Any) -> Any:
    """Connections as our sessions use them."""
    return await asyncpg.create_pool(
        where,
        min_size=1,
        max_size=4,
        command_timeout=patience,
        server_settings=_manner(patience),
        # More than there are different ones: a statement that is forgotten must be read and planned again.
        statement_cache_size=1000,
        max_cached_statement_lifetime=0,
        # All our settings and locks end with their transaction: there is nothing to reset, and it would cost a question each.
        reset=_leave,
        **options,
    )


async def _leave(connection: Any) -> None:
    """Leaves a connection as it is."""


class PostgresDatabase:
    """A pool of connections; any number of processes may share the database."""

    dialect = "postgresql"

    def __init__(self, pool: Any, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._kinds: Kinds = {}

    @classmethod
    async def open(cls, where: str, clock: Clock, patience: float = _PATIENCE) -> PostgresDatabase:
        check_address(where)
        try:
            with clock.outside():
                pool = await create_pool(where, patience)
        except (*_AWAY, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
            raised = Unreachable if isinstance(error, _AWAY) else StoreError
            raise raised(
                f"cannot reach PostgreSQL at {public(where)}: {without_password(where, str(error))}.",
                "Does it run, and are user, password and database name right?",
            ) from error
        database = cls(pool, clock)
        await set_clock(database, clock)
        return database

    @asynccontextmanager
    async def transaction(self, patience: float | None = None) -> AsyncIterator[Transaction]:
        async with self._connection() as connection:
            tx = PostgresTransaction(connection, self._clock, self._kinds, patience)
            try:
                async with self._begun(connection):
                    yield tx
                    await tx.flush()
                    tx.check()
            except BaseException:
                tx.rolled_back()
                raise
            tx.committed()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        async with self._connection() as connection, self._begun(connection, isolation="repeatable_read", readonly=True):
            tx = PostgresTransaction(connection, self._clock, self._kinds)
            # Whoever reads holds up nobody, and may take its time between two looks.
            await tx.execute("set local idle_in_transaction_session_timeout = 0")
            yield tx

    @asynccontextmanager
    async def _begun(self, connection: Any, **manner: Any) -> AsyncIterator[None]:
        """From the begin of a transaction to its commit, or to its rollback when the body fails: with what that has raised."""
        transaction = connection.transaction(**manner)
        await self._say(connection, transaction.start())
        try:
            yield
        except BaseException:
            # What the body raised is the news; a connection that is gone, or does not take it, is not used again.
            with suppress(Busy, DiskFull, asyncpg.InterfaceError):
                await self._say(connection, transaction.rollback())
            raise
        await self._say(connection, transaction.commit())

    async def _say(self, connection: Any, words: Awaitable[T]) -> T:
        with self._clock.outside(), _translated(connection):
            return await words

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        connection = await self._say(None, self._pool.acquire())
        try:
            yield connection
        finally:
            # What was to be written is written, or not; the pool throws away a connection that cannot be used again.
            with suppress(Busy):
                await self._say(connection, self._pool.release(connection))

    async def time(self) -> datetime | None:
        async with self._connection() as connection:
            told: datetime = await self._say(connection, connection.fetchval("select clock_timestamp()"))
        return told

    def any(self, kind: str) -> str:
        # Not `= any(…)`: of 5,000 members PostgreSQL would compare each with every row where it can join.
        return f"in (select value from unnest(?::{kind}[]) as listed (value))"

    def members(self, values: Sequence[Any]) -> Any:
        return list(values)

    async def create_tables(self) -> None:
        async with self.transaction() as tx:
            # Two processes may start at once: the second waits here and then finds the tables.
            await tx.execute("select pg_advisory_xact_lock(7254103)")
            await create_tables(tx, self.dialect, self._clock.now())

    async def close(self) -> None:
        with self._clock.outside():
            await self._pool.close()
