"""Transactions that end together: each whole, each durable when it returns, on either database."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.sqlite.database import sqlite_module
from bowerbird.errors import DiskFull
from bowerbird.ports import Database

INSERT = "insert into claims (name, worker, token, until) values (?, 1, 1, ?)"


async def insert(database: Database, name: str, *, fails: bool = False) -> None:
    async with database.transaction() as tx:
        await tx.execute(INSERT, name, 1)
        if fails:
            raise RuntimeError(f"{name} fails on purpose")


async def stored(database: Database) -> set[str]:
    async with database.reading() as tx:
        return {row["name"] for row in await tx.fetch("select name from claims where until = 1")}


async def test_of_transactions_that_end_together_a_failed_one_takes_back_only_its_own(database: Database) -> None:
    outcomes = await asyncio.gather(
        *(insert(database, name, fails=name == "b") for name in ("a", "b", "c")), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), RuntimeError, type(None)]
    assert await stored(database) >= {"a", "c"}
    assert "b" not in await stored(database)


async def test_a_cancelled_waiter_does_not_disturb_those_who_share_its_commit(database: Database) -> None:
    tasks = [asyncio.create_task(insert(database, name)) for name in ("a", "b")]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.wait(tasks)
    assert tasks[1].exception() is None
    assert "b" in await stored(database)


async def test_what_has_returned_is_seen_by_other_processes(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.migrate()
    other = sqlite_module().connect(tmp_path / "crawl.db")
    for name in ("a", "b"):
        await asyncio.gather(insert(database, name), insert(database, f"{name}{name}"))
        assert other.execute("select count(*) from claims where name = ?", (name,)).fetchone() == (1,)
    other.close()
    await database.close()


async def test_a_full_disk_fails_everyone_who_shares_the_transaction(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.migrate()
    async with database.transaction() as tx:
        pages = (await tx.fetch("pragma page_count"))[0][0]
        await tx.fetch(f"pragma max_page_count = {pages + 3}")
    names = ["a", "b" * 100_000, "c"]
    outcomes = await asyncio.gather(*(insert(database, name) for name in names), return_exceptions=True)
    kept = await stored(database)
    assert isinstance(outcomes[1], DiskFull)
    assert kept == {name for name, outcome in zip(names, outcomes, strict=True) if outcome is None}
    await database.close()


async def test_a_transaction_in_the_middle_of_its_work_is_not_committed_by_others(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.migrate()
    others: list[asyncio.Task[None]] = []

    async def fail() -> None:
        async with database.transaction() as tx:
            await tx.execute(INSERT, "half", 1)
            others.append(asyncio.create_task(insert(database, "other")))
            for _ in range(5):
                await asyncio.sleep(0)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        await fail()
    await others[0]
    assert await stored(database) == {"other"}
    await database.close()


async def test_the_loop_goes_on_while_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.migrate()
    # On the loop's own thread it would be a handful: begin, end, commit, told. Where the machine is busy the disk may be the
    # faster one, but not every time.
    assert max([await turns_during(insert(database, f"{number}" * 20_000_000)) for number in range(3)]) > 20
    await database.close()


async def turns_during(work: Coroutine[Any, Any, None]) -> int:
    """How often the loop comes round meanwhile."""
    task, turns = asyncio.create_task(work), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    await task
    return turns


async def test_closing_waits_for_the_commit_under_way(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.migrate()
    name = "long" * 5_000_000
    writing = asyncio.create_task(insert(database, name))
    for _ in range(6):
        await asyncio.sleep(0)
    await database.close()
    await writing
    other = sqlite_module().connect(tmp_path / "crawl.db")
    assert other.execute("select count(*) from claims where name = ?", (name,)).fetchone() == (1,)
    other.close()


async def test_one_who_is_cancelled_while_the_commit_runs_takes_nothing_back(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.migrate()
    long = "long" * 5_000_000
    tasks = [asyncio.create_task(insert(database, name)) for name in (long, "with it")]
    for _ in range(8):
        await asyncio.sleep(0)
    # Its statements have ended; now it only waits.
    tasks[0].cancel()
    await asyncio.wait(tasks)
    later = asyncio.create_task(insert(database, "later"))
    await later
    assert await stored(database) == {long, "with it", "later"}
    await database.close()
