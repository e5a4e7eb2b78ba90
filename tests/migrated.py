"""A PostgreSQL database with our tables that one test after the other may use: emptying it is far quicker than making another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from bowerbird.clock import RealClock
from bowerbird.db import open_database

_NAME = "migrated"
_TABLES = "select tablename from pg_tables where schemaname = 'public' order by tablename"
_SHAPE = """
select (select count(*) from pg_class where relnamespace = 'public'::regnamespace),
    (select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'public'::regnamespace),
    (select count(*) from migrations)
"""
_OTHERS = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
_RESTART = "select setval(seqrelid::regclass, seqstart, false) from pg_sequence"


class Migrated:
    """The database: made at its first use, and anew when a test has changed more than rows."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.url = server.replace("/postgres?", f"/{_NAME}?")
        self._shape: Sequence[Any] | None = None
        self._first: dict[str, list[asyncpg.Record]] = {}
        """Rows that the migrations themselves write, by table."""

    async def ready(self) -> None:
        """Makes it, unless it is there."""
        if self._shape is not None:
            return
        connection = await asyncpg.connect(self._server)
        await connection.execute(f"drop database if exists {_NAME} with (force)")
        await connection.execute(f"create database {_NAME} strategy file_copy")
        await connection.close()
        opened = await open_database(self.url, RealClock())
        await opened.migrate()
        await opened.close()
        connection = await asyncpg.connect(self.url)
        self._shape = await connection.fetchrow(_SHAPE)
        self._first = {table: await connection.fetch(f'select * from "{table}"') for table in await _tables(connection)}
        await connection.close()

    async def empty(self) -> None:
        """Takes out whatever the last test put in."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(_OTHERS)
            if await connection.fetchrow(_SHAPE) != self._shape:
                self._shape = None
                return
            tables = await _tables(connection)
            async with connection.transaction():
                # Without the checks of foreign keys any order will do.
                await connection.execute("set local session_replication_role = replica")
                await connection.execute(";".join(f'delete from "{table}"' for table in tables))
                for table, rows in self._first.items():
                    if rows:
                        await connection.copy_records_to_table(table, records=rows)
                await connection.execute(_RESTART)
        finally:
            await connection.close()


async def _tables(connection: asyncpg.Connection) -> list[str]:
    return [row[0] for row in await connection.fetch(_TABLES) if row[0] != "migrations"]
