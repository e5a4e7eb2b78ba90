"""A process that runs on while a newer bowerbird adds to its tables (PostgreSQL)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.process.patience import patiently
from bowerbird.db import open_database
from bowerbird.ports import Database

_ADD = "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)"
_READ = "select * from errors order by error"


@pytest.fixture
async def running(migrated_url: str) -> AsyncIterator[Database]:
    """The database as a process has it open that knows its tables by now."""
    database = await open_database(migrated_url, RealClock())
    await database.create_tables()
    await _work(database)
    yield database
    await database.close()


async def _work(database: Database) -> int:
    """What every process does: reads whole rows by a statement it has prepared, and writes many at once; how many there are."""
    async with database.transaction() as tx:
        await tx.execute_all([(_ADD, [(1, 1, "part", None, None, word) for word in ("one", "two")])])
        return len(await tx.fetch(_READ))


async def test_a_running_process_goes_on_when_a_column_is_added_to_its_tables(running: Database, migrated_url: str) -> None:
    newer = await open_database(migrated_url, RealClock())
    async with newer.transaction() as tx:
        await tx.execute("alter table errors add column of_a_later_version text")
    await newer.close()
    said: list[str] = []
    assert await patiently(lambda: _work(running), RealClock(), lambda why, at: said.append(why)) == 4
    assert len(said) == 1, "after one failure the tables are looked at again"
    assert await _work(running) == 6


async def test_a_statement_that_is_wrong_in_itself_is_not_tried_again(running: Database) -> None:
    async with running.reading() as tx:
        with pytest.raises(asyncpg.UndefinedColumnError):
            await tx.fetch("select nothing from errors")
