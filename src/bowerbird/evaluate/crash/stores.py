"""Where killed crawls keep their things: a fresh store for each round, and a look at one right after a kill."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import Protocol

import asyncpg
from msgspec import Struct

from bowerbird.db import open_database
from bowerbird.ports import Clock, Database

_FLYING = "select count(*) as flying from calls where state = 'flying'"
_ENROLLED = "select count(*) as enrolled from workers where pid = ? and ended_at is null"


class Trace(Struct, frozen=True):
    """What a killed process left behind."""

    has_enrolled: bool = False
    """It had written that it exists."""
    flying: int = 0
    """Calls under way when it died."""
    is_whole: bool = True
    """The database is sound."""


class Stores(Protocol):
    """One kind of database."""

    name: str

    async def fresh(self, folder: Path) -> str:
        """Where a new crawl may keep its store."""
        ...

    async def look(self, store: str, pid: int, scratch: Path) -> Trace:
        """What the process of this number left, without doing the work of whoever starts next."""
        ...


class SqliteStores:
    """Files in the round's folder."""

    name = "sqlite"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def fresh(self, folder: Path) -> str:
        return str(folder / "crash.db")

    async def look(self, store: str, pid: int, scratch: Path) -> Trace:
        copy = _copied(Path(store), scratch)
        if copy is None:
            return Trace()
        database = await open_database(str(copy), self._clock)
        try:
            async with database.reading() as tx:
                check = await tx.fetch("pragma integrity_check")
            is_whole = [row[0] for row in check] == ["ok"]  # type: ignore[index]
            return await _trace(database, pid, is_whole=is_whole)
        finally:
            await database.close()


class PostgresStores:
    """Databases on one server."""

    name = "postgresql"

    def __init__(self, server: str, clock: Clock, name: str = "crash") -> None:
        self._server = server
        self._name = name
        self._clock = clock
        self._numbers = count(1)

    async def fresh(self, folder: Path) -> str:
        name = f"{self._name}_{next(self._numbers)}"
        connection = await asyncpg.connect(self._server)
        await connection.execute(f"create database {name} strategy file_copy")
        await connection.close()
        return self._server.replace("/postgres?", f"/{name}?")

    async def look(self, store: str, pid: int, scratch: Path) -> Trace:
        database = await open_database(store, self._clock)
        try:
            return await _trace(database, pid, is_whole=True)
        finally:
            await database.close()


def _copied(store: Path, scratch: Path) -> Path | None:
    """A copy: opening the store itself would repair it, and the next crawl is to find it as it was left."""
    copy = scratch / "copy.db"
    for end in ("", "-wal"):
        source, target = store.with_name(store.name + end), copy.with_name(copy.name + end)
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copy(source, target)
    return copy if store.exists() else None


async def _trace(database: Database, pid: int, *, is_whole: bool) -> Trace:
    tables = "sqlite_master where type = 'table' and name" if database.dialect == "sqlite" else "pg_tables where tablename"
    async with database.reading() as tx:
        made = await tx.fetch_one(f"select count(*) as found from {tables} = 'workers'")
        if made is None or not made["found"]:
            return Trace(is_whole=is_whole)
        enrolled, flying = await tx.fetch_one(_ENROLLED, pid), await tx.fetch_one(_FLYING)
    return Trace(bool(enrolled and enrolled["enrolled"]), int(flying["flying"]) if flying else 0, is_whole)
