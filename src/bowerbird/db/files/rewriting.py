"""A database written anew, so that nothing that was deleted is left in its files.

Deleted content is overwritten as it goes, but where a database moves rows between its pages, copies of them may stay in places
that are not in use: only rewriting removes those.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from bowerbird.db.files.private import SIDE_FILES, create_private
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.errors import StoreError
from bowerbird.ports import Clock

SMALL = 256 * 1024 * 1024
"""Bytes of a store that is rewritten in a few seconds."""
CLEAN = "update residue set is_left = 0"
"""Purges set it to 1."""
_OURS = "select tablename from pg_tables where schemaname = current_schema() order by tablename"


async def rewrite_small(where: str, clock: Clock) -> None:
    """Writes a SQLite store anew in which something was deleted since the last time, if that takes but a moment and nobody else
    uses it; leaves any other as it is."""
    if _is_file(where):
        with clock.outside():
            await asyncio.to_thread(_rewrite_small, Path(where))


def _is_file(where: str) -> bool:
    return where != ":memory:" and "://" not in where


def _rewrite_small(path: Path) -> None:
    module = sqlite_module()
    with suppress(module.Error, OSError, StoreError):
        if path.stat().st_size <= SMALL and _has_residue(module, path):
            _rewrite_sqlite(path)


def _has_residue(module: Any, path: Path) -> bool:
    store = module.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        return bool(store.execute("select 1 from residue where is_left = 1").fetchall())
    finally:
        store.close()


async def rewrite(where: str, clock: Clock) -> None:
    """Writes the whole store anew while nobody else uses it; killed at any moment, it is as it was before or as it is after."""
    with clock.outside():
        if _is_file(where):
            await asyncio.to_thread(_rewrite_sqlite, Path(where))
        else:
            await _rewrite_postgres(where)


def _rewrite_sqlite(path: Path) -> None:
    # Not `vacuum` in place: builds of SQLite that keep temporary tables in memory would need as much of it as the store is large.
    module, copy = sqlite_module(), path.with_name(f"{path.name}.scrub.unfinished")
    _remove(copy)
    store = module.connect(path, isolation_level=None, timeout=5)
    try:
        _take_alone(store)
        create_private(copy)
        store.execute("vacuum into ?", (str(copy),))
        _put_back(module, copy, store)
    except (module.Error, OSError) as error:
        raise StoreError(
            f"cannot rewrite {path}: {error}. Nothing is changed.",
            "Nobody may use it meanwhile, and it needs twice its size of free space.",
            code="file_unwritable",
        ) from error
    finally:
        store.close()
        _remove(copy)


def _take_alone(store: Any) -> None:
    """Keeps everybody else out until the connection is closed: what they wrote meanwhile would be lost."""
    store.execute("pragma secure_delete = on")
    store.execute("pragma locking_mode = exclusive")
    store.execute("begin exclusive")
    store.execute("update residue set is_left = is_left")
    store.execute("commit")


def _put_back(module: Any, copy: Path, store: Any) -> None:
    """Replaces every page by those of the copy, in one transaction."""
    source = module.connect(copy, isolation_level=None)
    try:
        source.execute(CLEAN)
        source.backup(store)
    finally:
        source.close()
    store.execute("pragma wal_checkpoint(truncate)").fetchall()


def _remove(copy: Path) -> None:
    for ending in ("", *SIDE_FILES):
        copy.with_name(copy.name + ending).unlink(missing_ok=True)


async def _rewrite_postgres(where: str) -> None:
    """Also the planner's statistics: they are samples of what stands in a column. What the server's own log still holds is
    overwritten by the server in its own time (docs/operations.md)."""
    # The driver takes longer to load than most commands take to run.
    import asyncpg

    try:
        connection = await asyncpg.connect(where)
        try:
            for row in await connection.fetch(_OURS):
                await connection.execute(f'vacuum (full, analyze) "{row["tablename"]}"')
            await connection.execute("vacuum (full) pg_catalog.pg_statistic")
            await connection.execute(CLEAN)
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreError(
            f"PostgreSQL could not rewrite the store: {error}. Nothing is lost", "run it again when there is room on its disk."
        ) from error
