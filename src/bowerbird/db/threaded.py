"""A database for those who read while others work: what a question takes is taken by a thread, and never by the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

from bowerbird.db import open_database
from bowerbird.db.addresses import is_postgres
from bowerbird.db.sqlite.database import SqliteDatabase
from bowerbird.db.sqlite.transaction import SqliteTransaction
from bowerbird.errors import StoreError, UserError
from bowerbird.model import Backoff
from bowerbird.ports import Clock, Database, Row, Transaction

T = TypeVar("T")
_THREADS = 4
_PATIENCE = 30.0
"""Seconds that one question may take; whoever looks at a page has gone by then."""
_OFTEN = Backoff(first=timedelta(milliseconds=2), most=timedelta(milliseconds=10))
TOO_LONG = "this takes too long on a store of this size; ask for less at a time, or on the command line"


async def open_threaded(where: str, clock: Clock) -> Database:
    """The database at an address, for a dashboard: a long question holds up neither other pages nor a crawl in the same process.
    The caller closes it."""
    if is_postgres(where):
        # A server thinks for itself; few connections are opened, whatever is asked.
        return await open_database(where, clock)
    return _ThreadedDatabase.open(where, clock)


class _ThreadedDatabase(SqliteDatabase):
    """A SQLite file whose readers have threads."""

    def __init__(self, where: str, clock: Clock, module: Any, *, waits_for_disk: bool = True) -> None:
        super().__init__(where, clock, module, waits_for_disk=waits_for_disk)
        self._threads = ThreadPoolExecutor(_THREADS, "reading")
        # A crawl leaves the lock for moments only: who looks seldom, such as somebody who logs in, would hardly find it free.
        self._waits = _OFTEN

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        if self._found() != self._file:
            # The open file has no name any more: what is read from it, nobody else sees.
            raise StoreError(
                f"the database {self._where} was deleted or replaced while it was shown",
                "start the dashboard again",
                code="file_changed",
            )
        async with super().reading() as tx:
            # What is in memory has one connection for all, and is small.
            if self._where == ":memory:" or not isinstance(tx, SqliteTransaction):
                yield tx
            else:
                yield _InThread(tx.connection, self._threads)

    async def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        await super().close()


class _InThread(SqliteTransaction):
    """The questions of one who reads, asked in a thread, one after the other."""

    def __init__(self, connection: Any, threads: Executor) -> None:
        super().__init__(connection)
        self._threads = threads

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        return await self._in_thread(lambda: self.fetch_now(sql, values))

    async def fetch_all(self, questions: Sequence[tuple[str, Sequence[Any]]]) -> Sequence[Sequence[Row]]:
        # One way to the thread and back for all of them.
        return await self._in_thread(lambda: [self.fetch_now(sql, values) for sql, values in questions])

    async def fetch_one(self, sql: str, *values: Any) -> Row | None:
        rows = await self.fetch(sql, *values)
        return rows[0] if rows else None

    async def fetch_columns(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        return await self._in_thread(lambda: self.columns_now(sql, values))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        asked = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            done, _ = await asyncio.wait([asked], timeout=_PATIENCE)
        except asyncio.CancelledError:
            await self._given_up(asked)
            raise
        if not done:
            await self._given_up(asked)
            raise UserError(TOO_LONG)
        return asked.result()

    async def _given_up(self, asked: asyncio.Future[T]) -> None:
        """Ends a question nobody waits for: the connection is another's next."""
        while not asked.done():
            # Again and again: one that has not begun yet cannot be interrupted.
            self.connection.interrupt()
            await asyncio.wait([asked], timeout=0.02)
        asked.exception()
