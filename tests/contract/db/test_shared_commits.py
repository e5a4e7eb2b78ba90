"""Transactions that end together: each whole, each durable when it returns, on either database."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.sqlite import disk
from bowerbird.db.sqlite.database import SqliteDatabase
from bowerbird.db.sqlite.disk import LogFile
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.errors import DiskFull, StoreError
from bowerbird.ports import Database
from failures import raises_code

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
    await database.create_tables()
    other = sqlite_module().connect(tmp_path / "crawl.db")
    for name in ("a", "b"):
        await asyncio.gather(insert(database, name), insert(database, f"{name}{name}"))
        assert other.execute("select count(*) from claims where name = ?", (name,)).fetchone() == (1,)
    other.close()
    await database.close()


async def test_a_full_disk_fails_everyone_who_shares_the_transaction(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
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
    await database.create_tables()
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


async def test_the_loop_goes_on_while_much_is_committed(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()

    async def insert_many(number: int) -> None:
        async with database.transaction() as tx:
            await tx.execute_many(INSERT, [(f"{number}/{row}" * 100, 1) for row in range(20_000)])

    # On the loop's own thread it would be a handful: begin, end, commit, told. Where the machine is busy the disk may be the
    # faster one, but not every time.
    assert max([await turns_during(insert_many(number)) for number in range(3)]) > 20
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
    await database.create_tables()
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
    await database.create_tables()
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


class SlowDisk(LogFile):
    """Waits for the disk until it is told that the disk is ready."""

    ready = threading.Event()

    def sync(self) -> None:
        assert self.ready.wait(60)
        super().sync()


class BrokenDisk(LogFile):
    """A disk that keeps nothing from some time on."""

    is_broken = False

    def sync(self) -> None:
        if self.is_broken:
            raise OSError(5, "Input/output error")
        super().sync()


class PowerCuts(LogFile):
    """After every wait for the disk, a copy of what a power cut would leave there at the least."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self._where = Path(where)
        self.copies = 0

    def sync(self) -> None:
        super().sync()
        copy = copied(self._where, self.copies + 1)
        shutil.copyfile(self._where, copy)
        shutil.copyfile(f"{self._where}-wal", f"{copy}-wal")
        self.copies += 1


def copied(where: Path, number: int) -> Path:
    return where.with_name(f"{number}.db")


async def opened(where: Path, log: type[LogFile]) -> SqliteDatabase:
    database = SqliteDatabase(str(where), RealClock(), sqlite_module(), log=log)
    if log is SlowDisk:
        SlowDisk.ready.set()
    await database.create_tables()
    return database


async def test_while_one_waits_for_the_disk_others_write_and_none_returns_before_its_own_is_there(tmp_path: Path) -> None:
    database = await opened(tmp_path / "crawl.db", SlowDisk)
    SlowDisk.ready.clear()
    writing = []
    for name in ("a", "b", "c"):
        writing.append(asyncio.create_task(insert(database, name)))
        # Written, and seen by whoever reads; not on the disk yet.
        while name not in await stored(database):  # noqa: ASYNC110 - nobody tells a reader what others write
            await asyncio.sleep(0)
    assert not any(task.done() for task in writing)
    SlowDisk.ready.set()
    await asyncio.gather(*writing)
    await database.close()


async def test_what_has_returned_is_there_after_a_power_cut(tmp_path: Path) -> None:
    where = tmp_path / "crawl.db"
    database = await opened(where, PowerCuts)
    log = database._log
    assert isinstance(log, PowerCuts)
    returned: dict[str, int] = {}

    async def write(name: str) -> None:
        await insert(database, name)
        returned[name] = log.copies

    for round_ in range(5):
        await asyncio.gather(*(write(f"{round_}/{number}" * (1 + 5_000 * (number == 3))) for number in range(8)))
    await database.close()
    assert len(returned) == 40
    for number in set(returned.values()):
        left = sqlite_module().connect(copied(where, number))
        names = {name for (name,) in left.execute("select name from claims")}
        assert names >= {name for name, copies in returned.items() if copies <= number}
        left.close()


async def test_a_disk_that_does_not_keep_what_was_written_is_told_to_all_who_wait_and_nobody_writes_again(tmp_path: Path) -> None:
    database = await opened(tmp_path / "crawl.db", BrokenDisk)
    await insert(database, "before")
    database._log.is_broken = True  # type: ignore[attr-defined]
    outcomes = await asyncio.gather(*(insert(database, name) for name in ("a", "b")), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreError, StoreError]
    log = tmp_path / "crawl.db-wal"
    with raises_code(StoreError, "database_failed") as caught:
        await insert(database, "after")
    assert all(value in caught.value.problem for value in (str(log), "Input/output error"))
    assert caught.value.advice
    unkept = log.read_bytes()
    await database.close()
    # Nobody has written it into the database: what of it the disk has kept is asked at the next start.
    assert log.read_bytes() == unkept
    log.write_bytes(unkept[:-1_000] + bytes(1_000))
    other = sqlite_module().connect(tmp_path / "crawl.db")
    kept = {name for (name,) in other.execute("select name from claims")}
    assert other.execute("pragma integrity_check").fetchall() == [("ok",)]
    other.close()
    assert "before" in kept
    assert not kept >= {"a", "b"}


async def test_a_store_behind_a_link_is_written_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    where, link = tmp_path / "disk" / "crawl.db", tmp_path / "link.db"
    database = await open_database(str(where), RealClock())
    await database.create_tables()
    await database.close()
    link.symlink_to(where)
    database = await open_database(str(link), RealClock())
    # Of somebody else's, and not ours.
    link.with_name("link.db-wal").write_bytes(b"")
    async with asyncio.timeout(60):
        await insert(database, "a")
    assert database._log.path.samefile(tmp_path / "disk" / "crawl.db-wal")  # type: ignore[attr-defined]
    await database.close()


async def test_a_log_that_was_deleted_is_told_before_anything_more_is_written(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    await insert(database, "a")
    (tmp_path / "crawl.db-wal").unlink()
    with raises_code(StoreError, "file_changed") as caught:
        await insert(database, "b")
    assert str(tmp_path / "crawl.db-wal") in caught.value.problem
    await database.close()


async def test_a_name_that_sqlite_takes_for_an_address_is_refused(tmp_path: Path) -> None:
    place = f"file:{tmp_path / 'crawl.db'}"
    with raises_code(StoreError, "invalid_address") as caught:
        await open_database(place, RealClock())
    assert place in caught.value.problem


async def test_who_waits_for_a_commit_that_a_close_prevents_is_told(tmp_path: Path) -> None:
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    joined, go_on = asyncio.Event(), asyncio.Event()

    async def linger() -> None:
        async with database.transaction() as tx:
            await tx.execute(INSERT, "b", 1)
            joined.set()
            await go_on.wait()

    first = asyncio.create_task(insert(database, "a"))
    await asyncio.sleep(0)
    second = asyncio.create_task(linger())
    await joined.wait()
    await database.close()
    go_on.set()
    outcomes = await asyncio.wait_for(asyncio.gather(first, second, return_exceptions=True), 60)
    assert isinstance(outcomes[0], StoreError | None)
    assert isinstance(outcomes[1], Exception)


async def test_before_a_transaction_returns_the_system_was_told_to_write_its_log_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []

    def fdatasync(descriptor: int) -> None:
        found = os.fstat(descriptor)
        told.append((found.st_ino, found.st_size))
        os.fsync(descriptor)

    # The only place where nothing short of a power cut would show the difference.
    monkeypatch.setattr(disk, "_sync", fdatasync)
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    for name in ("a", "b"):
        told.clear()
        await insert(database, name)
        log = (tmp_path / "crawl.db-wal").stat()
        assert told == [(log.st_ino, log.st_size)]
    await database.close()


async def test_a_folder_that_its_file_system_cannot_sync_does_not_stop_what_is_written_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, refused = os.fsync, []

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            refused.append(descriptor)
            raise OSError(22, "Invalid argument")
        synced(descriptor)

    # Of the file systems that a test can have, none refuses this.
    monkeypatch.setattr(os, "fsync", fsync)
    database = await open_database(str(tmp_path / "crawl.db"), RealClock())
    await database.create_tables()
    await insert(database, "a")
    await database.close()
    assert refused
