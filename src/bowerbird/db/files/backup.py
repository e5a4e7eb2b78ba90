"""A consistent copy of a store while it is written, and the way back.

A backup is always one SQLite file with the same schema, whatever it was taken from: `bowerbird status` can read it as it is,
and it can be restored into a new SQLite file or into an empty PostgreSQL database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from uuid import uuid4

from msgspec import Struct

from bowerbird.db.addresses import check_address, is_postgres, without_password
from bowerbird.db.files.private import create_private
from bowerbird.db.sqlite.database import SqliteDatabase
from bowerbird.db.sqlite.library import sqlite_module, what_to_check
from bowerbird.db.sqlite.short_addresses import short_address, written_url
from bowerbird.db.sqlite.short_columns import kept_rows, read, written
from bowerbird.db.tables import check_version
from bowerbird.errors import StoreError
from bowerbird.ports import Clock

_CHUNK = 5_000
_GIVEN = """
select coalesce(pg_sequence_last_value(pg_get_serial_sequence('users', 'user_no')::regclass), 0) as users,
    coalesce(pg_sequence_last_value(pg_get_serial_sequence('posts', 'post_no')::regclass), 0) as posts
"""
"""The last numbers that PostgreSQL gave, also to who is deleted since."""
_THERE = "select tablename from pg_tables where schemaname = current_schema()"
_STEPS = 10_000
"""Of SQLite's machine, between two looks whether a copy is still wanted."""
_Result = TypeVar("_Result")
Said = Callable[[str, int], None]
"""Hears the table being copied and how many of its rows are through."""


class Copied(Struct, frozen=True):
    """What a finished copy holds."""

    path: str
    rows: int
    size: int


async def back_up(where: str, target: Path, clock: Clock, said: Said = lambda table, rows: None) -> Copied:
    """Copies the store into a new file, as of one moment; the file appears under its name only when it is whole."""
    unfinished = _prepared(target)
    try:
        with clock.outside():
            if is_postgres(where):
                await _from_postgres(where, unfinished, clock, said)
            else:
                await _in_thread(_from_sqlite, where, unfinished)
            return await _in_thread(_finished, unfinished, target)
    finally:
        _remove(unfinished)


async def restore(backup: Path, where: str, clock: Clock, said: Said = lambda table, rows: None) -> Copied:
    """Makes a store of a backup: a new SQLite file, or an empty PostgreSQL database; raises `StoreError` for anything else."""
    rows = await _in_thread(_checked, backup)
    if not is_postgres(where):
        return await back_up(str(backup), Path(where), clock)
    source = await asyncio.to_thread(_reading, backup)
    try:
        await _into_postgres(source, where, clock, said)
    finally:
        source.close()
    return Copied(where, rows, 0)


async def _in_thread(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """Done in a thread that is told when nobody waits any more, and that is over before this is: a thread left behind would go
    on writing a file that was removed."""
    unwanted = Event()
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments, unwanted))
    try:
        return await asyncio.shield(running)
    finally:
        unwanted.set()
        await asyncio.wait([running])


def _prepared(target: Path) -> Path:
    """Where the copy grows until it is whole: a name of its own, since others may be copying to the same place."""
    _check_free(target)
    if not target.parent.is_dir():
        raise StoreError(f"the folder {target.parent} for {target.name} does not exist", "create it first", code="file_not_found")
    return target.with_name(f"{target.name}.{uuid4().hex[:12]}.unfinished")


def _check_free(target: Path) -> None:
    if target.exists():
        raise StoreError(
            f"{target} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
        )


def _remove(unfinished: Path) -> None:
    """Also what SQLite keeps beside a database that is being written."""
    for ending in ("", "-journal", "-wal", "-shm"):
        unfinished.with_name(unfinished.name + ending).unlink(missing_ok=True)


def _finished(unfinished: Path, target: Path, unwanted: Event) -> Copied:
    """Checks the copy, makes it durable and gives it its name."""
    rows = _checked(unfinished, unwanted)
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    _name(unfinished, target)
    return Copied(str(target), rows, target.stat().st_size)


def _name(unfinished: Path, target: Path) -> None:
    """Gives a whole copy its name; raises when somebody else has taken that meanwhile."""
    try:
        target.hardlink_to(unfinished)
    except OSError:
        # The name is taken, or the file system has no links: then nothing better is to be had than to look and to move.
        _check_free(target)
        unfinished.rename(target)


def _from_sqlite(where: str, target: Path, unwanted: Event) -> None:
    """SQLite's own copy of one snapshot: the crawl goes on writing meanwhile."""
    module, source = sqlite_module(), _reading(Path(where))
    source.set_progress_handler(unwanted.is_set, _STEPS)
    try:
        create_private(target)
        source.execute("vacuum into ?", (str(target),))
    except (module.Error, OSError) as error:
        advice = "Is there room on the disk?" if os.access(Path(where).parent, os.W_OK) else what_to_check(where)
        raise StoreError(f"cannot copy {where} to {target}: {error}.", advice, code="file_unwritable") from error
    finally:
        source.close()


def _reading(path: Path) -> Any:
    if not path.is_file():
        raise StoreError(f"there is no database {path}", code="database_not_found")
    return sqlite_module().connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=60, check_same_thread=False
    )


def _checked(path: Path, unwanted: Event) -> int:
    """How many rows a copy holds; raises for a file that is damaged or is no store."""
    module, copy = sqlite_module(), _reading(path)
    copy.set_progress_handler(unwanted.is_set, _STEPS)
    try:
        verdict = copy.execute("pragma integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise StoreError(f"the backup {path} is damaged ({verdict})", "take another", code="file_damaged")
        tables = _tables(copy)
        if "schema_version" not in tables:
            check_version(None, str(path))
        check_version(copy.execute("select max(version) from schema_version").fetchone()[0], str(path))
        return sum(copy.execute(f"select count(*) from {table}").fetchone()[0] for table in tables)
    except module.Error as error:
        raise StoreError(f"{path} cannot be read as a backup: {error}", code="file_damaged") from error
    finally:
        copy.close()


def _tables(connection: Any) -> list[str]:
    """Tables in the order they were made: what is referred to comes first."""
    rows = connection.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid")
    names = [str(row[0]) for row in rows]
    if "crawls" not in names:
        raise StoreError("this is no bowerbird store: it has no crawls", code="not_a_store")
    return names


async def _from_postgres(where: str, target: Path, clock: Clock, said: Said) -> None:
    copy = SqliteDatabase.open(str(target), clock)
    try:
        await copy.create_tables()
        async with _snapshot(where, clock) as connection:
            await _check_version(connection)
            for table in await _copied_tables(connection):
                await _copy_table(connection, copy, table, said)
            given = await connection.fetchrow(_GIVEN)
        async with copy.transaction() as tx:
            await tx.execute("update highest_numbers set users = ?, posts = ?", given["users"], given["posts"])
    finally:
        await copy.close()
    _fold(target)


def _fold(path: Path) -> None:
    """One file without a journal beside it, so that it can be moved."""
    connection = sqlite_module().connect(path)
    connection.execute("pragma journal_mode = delete")
    connection.close()


@asynccontextmanager
async def _snapshot(where: str, clock: Clock) -> AsyncIterator[Any]:
    """A connection that sees the database as of one moment."""
    with clock.outside():
        connection = await _connected(where)
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                yield connection
        finally:
            await connection.close()


async def _connected(where: str) -> Any:
    import asyncpg  # Only here, and below: crawl files are read by commands that must be there at once.

    check_address(where)
    try:
        return await asyncpg.connect(where)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        words = without_password(where, str(error))
        raise StoreError(
            f"cannot reach PostgreSQL: {words}.", "Does it run, and are user, password and database right?"
        ) from error


async def _check_version(connection: Any) -> None:
    import asyncpg

    try:
        version = await connection.fetchval("select max(version) from schema_version")
    except asyncpg.UndefinedTableError:
        version = None
    check_version(version, "The PostgreSQL database")


async def _copied_tables(connection: Any) -> list[str]:
    rows = await connection.fetch("select tablename from pg_tables where schemaname = current_schema() order by tablename")
    return [row["tablename"] for row in rows if row["tablename"] != "schema_version"]


async def _copy_table(connection: Any, copy: SqliteDatabase, table: str, said: Said) -> None:
    columns = await _columns(connection, table)
    names = ", ".join(f'"{name}"' for name in columns)
    kept = ", ".join(f'"{name}"' for name in _written(table, columns))
    insert = f'insert into "{table}" ({kept}) values ({", ".join("?" for _ in columns)})'
    async with copy.transaction() as tx:
        # The rows that a new store begins with are part of the source too.
        await tx.execute(f'delete from "{table}"')
    done = 0
    cursor = await connection.cursor(f'select {names} from "{table}"')
    while rows := await cursor.fetch(_CHUNK):
        async with copy.transaction() as tx:
            await tx.execute_many(insert, _kept(table, columns, [tuple(row) for row in rows]))
        done += len(rows)
        said(table, done)


def _written(table: str, columns: Sequence[str]) -> list[str]:
    """Under which names SQLite keeps the columns of a table."""
    if table == "media":
        return [written_url("sqlite") if name == "url" else name for name in columns]
    return [written("sqlite", name) if table == "posts" else name for name in columns]


def _kept(table: str, columns: Sequence[str], rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of PostgreSQL as SQLite keeps them."""
    if table == "posts":
        return kept_rows(columns, rows)
    if table != "media":
        return rows
    id_, url = columns.index("id"), columns.index("url")
    return [(*row[:url], short_address(row[id_], row[url]), *row[url + 1 :]) for row in rows]


async def _columns(connection: Any, table: str) -> list[str]:
    rows = await connection.fetch(
        "select column_name from information_schema.columns where table_schema = current_schema() and table_name = $1 "
        "order by ordinal_position",
        table,
    )
    return [row["column_name"] for row in rows]


async def _into_postgres(source: Any, where: str, clock: Clock, said: Said) -> None:
    from bowerbird.db.postgres.database import PostgresDatabase

    database = await PostgresDatabase.open(where, clock)
    try:
        await database.create_tables()
        with clock.outside():
            connection = await _connected(where)
            try:
                async with connection.transaction():
                    await _fill(connection, source, said)
            finally:
                await connection.close()
    finally:
        await database.close()


async def _fill(connection: Any, source: Any, said: Said) -> None:
    if await connection.fetchval("select count(*) from crawls"):
        raise StoreError("the PostgreSQL database holds crawls already", "restore into an empty one", code="already_exists")
    # What only SQLite needs has no place there, but for the numbers that nobody may get again.
    there = {row["tablename"] for row in await connection.fetch(_THERE)} - {"schema_version"}
    given = dict(zip(("users", "posts"), source.execute("select users, posts from highest_numbers").fetchone(), strict=True))
    for table in (name for name in _tables(source) if name in there):
        await connection.execute(f'delete from "{table}"')
        await _load(connection, source, table, said)
        await _go_on_counting(connection, table, given.get(table, 0))


async def _load(connection: Any, source: Any, table: str, said: Said) -> None:
    known = await _columns(connection, table)
    columns = [name for row in source.execute(f'pragma table_info("{table}")') if (name := read(row[1])) in known]
    names = ", ".join(f'"{name}"' for name in columns)
    cursor, done = source.execute(f'select {names} from "{table}"'), 0
    while rows := cursor.fetchmany(_CHUNK):
        await connection.copy_records_to_table(table, records=[tuple(row) for row in rows], columns=columns)
        done += len(rows)
        said(table, done)


async def _go_on_counting(connection: Any, table: str, given: int) -> None:
    """The next number a table gives out lies above those that came with the copy, and those that were given before."""
    column = await connection.fetchval(
        "select column_name from information_schema.columns where table_schema = current_schema() and table_name = $1 "
        "and is_identity = 'YES'",
        table,
    )
    if column:
        await connection.execute(
            f"select setval(pg_get_serial_sequence('{table}', '{column}'), "
            f'greatest(coalesce((select max("{column}") from "{table}"), 0), {int(given)}) + 1, false)'
        )
