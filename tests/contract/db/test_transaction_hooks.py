"""What follows a transaction in memory follows what became of it in the database, on both."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import DiskFull
from bowerbird.ports import Database, Transaction

INSERT = "insert into claims (name, worker, token, until) values (?, 1, 1, 1)"


def watch(tx: Transaction, name: str, seen: list[str]) -> None:
    tx.after_commit(partial(seen.append, f"{name} is kept"))
    tx.on_rollback(partial(seen.append, f"{name} is undone"))


async def work(database: Database, name: str, seen: list[str], *, fails: bool = False) -> None:
    async with database.transaction() as tx:
        watch(tx, name, seen)
        await tx.execute(INSERT, name)
        if fails:
            raise RuntimeError("on purpose")


async def test_what_is_to_follow_a_commit_is_done_in_its_order_before_the_caller_goes_on(database: Database) -> None:
    seen: list[str] = []
    async with database.transaction() as tx:
        watch(tx, "first", seen)
        watch(tx, "second", seen)
        assert seen == []
    assert seen == ["first is kept", "second is kept"]


async def test_what_is_to_be_taken_back_is_so_the_last_first_before_the_caller_goes_on(database: Database) -> None:
    seen: list[str] = []
    with pytest.raises(RuntimeError):
        await _fail_twice_watched(database, seen)
    assert seen == ["second is undone", "first is undone"]


async def _fail_twice_watched(database: Database, seen: list[str]) -> None:
    async with database.transaction() as tx:
        watch(tx, "first", seen)
        watch(tx, "second", seen)
        raise RuntimeError


async def test_of_transactions_that_end_together_each_has_its_own_end(database: Database) -> None:
    seen: list[str] = []
    names = ("a", "b", "c")
    await asyncio.gather(*(work(database, name, seen, fails=name == "b") for name in names), return_exceptions=True)
    assert sorted(seen) == ["a is kept", "b is undone", "c is kept"]


async def test_a_broken_hook_is_told_to_its_own_caller_and_keeps_no_other_from_being_called(database: Database) -> None:
    seen: list[str] = []

    async def broken() -> None:
        async with database.transaction() as tx:
            tx.after_commit(lambda: 1 // 0)
            watch(tx, "broken", seen)
            await tx.execute(INSERT, "broken")

    ends = await asyncio.gather(broken(), work(database, "other", seen), return_exceptions=True)
    assert [type(end) for end in ends] == [ZeroDivisionError, type(None)]
    assert sorted(seen) == ["broken is kept", "other is kept"]


async def test_who_passes_over_a_failed_statement_is_told_when_nothing_was_kept(migrated_url: str) -> None:
    """PostgreSQL undoes such a transaction as a whole and takes the commit without a complaint."""
    database = await open_database(migrated_url, RealClock())
    seen: list[str] = []

    async def pass_over() -> None:
        async with database.transaction() as tx:
            watch(tx, "twice", seen)
            await tx.execute(INSERT, "twice")
            with suppress(asyncpg.UniqueViolationError):
                await tx.execute(INSERT, "twice")

    with pytest.raises(asyncpg.UniqueViolationError):
        await pass_over()
    assert seen == ["twice is undone"]
    await work(database, "twice", seen)
    assert seen[1:] == ["twice is kept"]
    await database.close()


async def test_commit_that_postgresql_refuses_undoes_memory(postgres_url: str) -> None:
    database = await open_database(postgres_url, RealClock())
    async with database.transaction() as tx:
        await tx.execute("create table parent (number bigint primary key)")
        # Checked at the commit.
        await tx.execute("create table child (parent bigint references parent deferrable initially deferred)")
    seen: list[str] = []

    async def orphan() -> None:
        async with database.transaction() as tx:
            watch(tx, "orphan", seen)
            await tx.execute("insert into child (parent) values (?)", 1)

    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await orphan()
    assert seen == ["orphan is undone"]
    await database.close()


async def test_who_is_cancelled_while_it_waits_for_its_commit_sees_in_memory_what_the_database_says(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    seen: list[str] = []
    tasks = [asyncio.create_task(work(database, name, seen)) for name in ("a", "b")]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.wait(tasks)
    async with database.reading() as tx:
        kept = {row["name"] for row in await tx.fetch("select name from claims where until = 1")}
    assert set(seen) == {f"{name} is {'kept' if name in kept else 'undone'}" for name in ("a", "b")}
    await database.close()


async def test_who_shared_a_commit_that_failed_is_taken_back_in_reverse(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        pages = (await tx.fetch("pragma page_count"))[0][0]
        await tx.fetch(f"pragma max_page_count = {pages + 3}")
    seen: list[str] = []
    ends = await asyncio.gather(
        *(work(database, name, seen) for name in ("a", "b", "c" * 100_000)), return_exceptions=True
    )  # fmt: skip
    assert isinstance(ends[2], DiskFull)
    undone = [words for words in seen if words.endswith("undone")]
    assert len(undone) == sum(isinstance(end, DiskFull) for end in ends)
    assert [words[0] for words in undone] == sorted((words[0] for words in undone), reverse=True)
    with suppress(DiskFull):
        await work(database, "d", seen)
    await database.close()
