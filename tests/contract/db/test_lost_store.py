"""A database that disappears under a crawl, or can no longer be written: no call more is made, and the user is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.sqlite.database import SqliteDatabase
from bowerbird.errors import DiskFull, StoreError
from failures import raises_code


async def opened(path: Path) -> SqliteDatabase:
    database = await open_database(str(path), RealClock())
    assert isinstance(database, SqliteDatabase)
    await database.create_tables()
    return database


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_file_that_was_deleted_or_replaced_takes_no_further_transaction(tmp_path: Path, is_replaced: bool) -> None:
    path = tmp_path / "crawl.db"
    database = await opened(path)
    if is_replaced:
        shutil.copy(path, tmp_path / "copy.db")
        (tmp_path / "copy.db").replace(path)
    else:
        path.unlink()
    with raises_code(StoreError, "file_changed") as caught:
        async with database.transaction() as tx:
            await tx.execute("update residue set is_left = is_left")
    assert str(path) in caught.value.problem
    assert "`bowerbird restore`" in caught.value.advice
    await database.close()


async def test_a_store_that_can_only_be_read_is_named_as_that(tmp_path: Path) -> None:
    database = await opened(tmp_path / "crawl.db")
    async with database.transaction() as tx:
        await tx.execute("pragma query_only = on")
    with raises_code(DiskFull, "file_unwritable") as caught:
        async with database.transaction() as tx:
            await tx.execute("update residue set is_left = is_left")
    assert str(tmp_path / "crawl.db") in caught.value.problem
    await database.close()
