"""A PostgreSQL database with our tables that one test after the other may use: emptying it is far quicker than making another."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from threading import Thread
from typing import Any, TypeVar

import asyncpg

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import Busy
from bowerbird.ports import Database

T = TypeVar("T")
_NAME, _PATTERN = "migrated", "pattern"
_TABLES = "select tablename from pg_tables where schemaname = 'public' order by tablename"
_SHAPE = "select count(*), sum(relnatts), sum(oid::bigint) from pg_class where relnamespace = 'public'::regnamespace"
"""A table that was dropped and made anew counts as another: sessions that are kept have plans with the types of the first."""
_BUSY = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
"""
"""Idle sessions hold nothing that others might want."""
_LARGEST = "select max(reltuples) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
_MANY = 5_000
"""Rows that the server says a table has, after a test that wrote many: it says so until it looks again, and pages believe it."""
_RESTART = """
select setval(seqrelid::regclass, seqstart, false) from pg_sequence where pg_sequence_last_value(seqrelid) is not null
"""


class Migrated:
    """The database, and copies of it: made at its first use, and anew when a test has changed more than rows. It keeps a
    connection with a loop of its own, which need not learn all the tables each time."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.url = server.replace("/postgres?", f"/{_NAME}?")
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connection: asyncpg.Connection | None = None
        self._has_pattern = False
        self._shape: Sequence[Any] | None = None
        self._first: dict[str, list[asyncpg.Record]] = {}
        """Rows that a new store begins with, by table."""

    def ready(self) -> None:
        """Makes it, unless it is there."""
        if self._connection is None:
            self._run(self._made())

    def copy(self, name: str) -> str:
        """The URL of another database with our tables and nothing else in them."""
        self._run(self._copied(name))
        return self._server.replace("/postgres?", f"/{name}?")

    def empty(self) -> None:
        """Takes out whatever the last test put in."""
        self._run(self._emptied())

    def close(self) -> None:
        self._run(self._left())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _made(self) -> None:
        await self._copied(_NAME)
        connection = self._connection = await asyncpg.connect(self.url)
        self._shape = await connection.fetchrow(_SHAPE)
        tables = [row[0] for row in await connection.fetch(_TABLES)]
        self._first = {
            table: await connection.fetch(f'select * from "{table}"') for table in tables
        }
        # In the server, which plans each statement once: to ask 92 tables first whether they have rows takes twice as long.
        deleted = "".join(f'delete from "{table}"; ' for table in tables)
        await connection.execute(
            f"create function pg_temp.emptied() returns void language plpgsql as $$ begin {deleted} end $$"
        )

    async def _copied(self, name: str) -> None:
        server = await asyncpg.connect(self._server)
        try:
            if not self._has_pattern:
                await server.execute(f"create database {_PATTERN} strategy file_copy")
                opened = await open_database(
                    self._server.replace("/postgres?", f"/{_PATTERN}?"), RealClock()
                )
                await opened.create_tables()
                await opened.close()
                self._has_pattern = True
            await server.execute(f"drop database if exists {name} with (force)")
            await server.execute(f"create database {name} template {_PATTERN} strategy file_copy")
        finally:
            await server.close()

    async def _emptied(self) -> None:
        connection = self._connection
        if connection is None:
            return
        await connection.execute(_BUSY)
        if (
            await connection.fetchrow(_SHAPE) != self._shape
            or await connection.fetchval(_LARGEST) > _MANY
        ):
            await self._left()
            return
        async with connection.transaction():
            # Without the checks of foreign keys any order will do.
            await connection.execute("set local session_replication_role = replica")
            await connection.execute("select pg_temp.emptied()")
            for table, rows in self._first.items():
                if rows:
                    await connection.copy_records_to_table(table, records=rows)
            await connection.execute(_RESTART)

    async def _left(self) -> None:
        if self._connection is not None:
            await self._connection.close()
        self._connection = None


class Kept:
    """That database, open from one test to the next: a new session has to learn tables, types and statements anew, which takes
    longer than most tests."""

    def __init__(self) -> None:
        self._database: Database | None = None

    async def open(self, url: str) -> Database:
        if self._database is None or not await self._answers(self._database):
            self._database = await open_database(url, RealClock())
        return self._database

    async def close(self) -> None:
        if self._database is not None:
            await self._database.close()

    async def _answers(self, database: Database) -> bool:
        """Not when the last test has closed it, or changed its tables."""
        try:
            await database.time()
        except (Busy, asyncpg.InterfaceError):
            await database.close()
            return False
        return True
