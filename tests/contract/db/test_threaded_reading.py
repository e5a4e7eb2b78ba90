"""Who reads beside a crawl holds up nobody: long questions have threads of their own, and end when nobody waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import threaded
from bowerbird.db.threaded import open_threaded
from bowerbird.errors import StoreError, UserError
from bowerbird.ports import Database
from failures import raises_code

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) select max(i) as most from n"


@pytest.fixture
async def read_beside(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_threaded(str(tmp_path / "store.db"), RealClock())
    await opened.create_tables()
    yield opened
    await opened.close()


async def ask(database: Database, most: int) -> int:
    async with database.reading() as tx:
        row = await tx.fetch_one(ENDLESS, most)
        return int(row["most"]) if row else 0


async def test_the_loop_goes_on_and_others_are_answered_while_a_long_question_is_asked(read_beside: Database) -> None:
    long = asyncio.create_task(ask(read_beside, 10**15))
    turns = 0
    while turns < 20:
        assert await ask(read_beside, 3) == 3
        turns += 1
    assert not long.done()
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long


async def test_a_question_nobody_waits_for_is_ended_and_its_connection_is_good_for_the_next(read_beside: Database) -> None:
    for _ in range(6):
        asked = asyncio.create_task(ask(read_beside, 10**15))
        assert await ask(read_beside, 5) == 5
        asked.cancel()
        await asyncio.wait([asked])
    assert await asyncio.gather(*(ask(read_beside, most) for most in range(1, 9))) == list(range(1, 9))


async def test_a_question_that_takes_too_long_is_ended_with_advice(
    read_beside: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threaded, "_PATIENCE", 0.05)
    with pytest.raises(UserError) as caught:
        await ask(read_beside, 10**15)
    assert caught.value.problem == threaded.TOO_LONG


async def test_a_store_that_was_deleted_is_not_shown_any_more(read_beside: Database, tmp_path: Path) -> None:
    assert await ask(read_beside, 1) == 1
    (tmp_path / "store.db").unlink()
    with raises_code(StoreError, "file_changed") as caught:
        await ask(read_beside, 1)
    assert str(tmp_path / "store.db") in caught.value.problem


async def test_what_is_written_is_read(read_beside: Database) -> None:
    async with read_beside.transaction() as tx:
        await tx.execute("create table seen (n integer)")
        await tx.execute("insert into seen values (?)", 7)
    async with read_beside.reading() as tx:
        assert [tuple(column) for column in await tx.fetch_columns("select n from seen")] == [(7,)]
        assert len(await tx.fetch_all([("select 1 as a", ()), ("select 2 as a", ())])) == 2


async def test_who_reads_beside_a_crawl_sees_one_moment(read_beside: Database) -> None:
    count = "select count(*) as number from claims"
    async with read_beside.reading() as tx, read_beside.reading() as other:
        before = [await each.fetch_one(count) for each in (tx, other)]
        async with read_beside.transaction() as writer:
            await writer.execute("insert into claims (name, worker, token, until) values ('new', 1, 1, 1)")
        assert [await each.fetch_one(count) for each in (tx, other)] == before
        assert await tx.fetch_columns("select count(*) from claims") == [(0,)]
        assert [rows[0]["number"] for rows in await tx.fetch_all([(count, ()), (count, ())])] == [0, 0]
        async with read_beside.reading() as later:
            assert await later.fetch_one(count) != before[0]
