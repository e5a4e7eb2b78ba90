"""Reports that must not grow with the store look nothing up by reading a whole table; a store of an earlier version learns its
former handles."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Side, Subject
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.browsing.lines import PostFilter, browse_posts, browse_relations, browse_users
from bowerbird.reports.browsing.pages import Ask
from bowerbird.reports.counting.by_time import Unit, calls_by_time, found_by_time
from bowerbird.reports.deletions import KINDS, read_deletions
from bowerbird.reports.histories.changes import find_history
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.health import read_health

_LARGE = ("users", "posts", "relations", "relation_history", "user_history", "former_handles", "post_history", "user_keys",
          "post_keys", "deletions", "unavailable", "calls", "tasks", "reactions", "media_files", "sightings")  # fmt: skip
_FEW = "(unavailable_now|relation_history_removed|users_opted_out|calls_in_vain)"
"""Indexes that hold only the few rows which a report is about."""
_WHOLE = re.compile(rf"^SCAN (\w+)(?! USING (COVERING )?INDEX {_FEW})\b")
_NAMED = re.compile(r"(?:from|join)\s+(\w+)\s+([a-z])\b")
_FAR = 10_000_000
"""A row of this number makes a table count as large."""
_POST = f"values ({_FAR}, 'x:p', 'x', {_FAR}, 'post', 1, 1, 1, 1)"
_COLUMNS = "short_id, short_network, author, kind, found_at, found_by, short_seen_at, short_seen_by"
_CALL = f"""
(call, crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, settled_at)
values ({_FAR}, 1, 1, 'profiles', 1, 'settled', '[]', 1, '1', 1, 1, 1)
"""
_ROWS = (
    f"insert into users (user_no, id, network, found_at) values ({_FAR}, 'x:far', 'x', 1)",
    f"insert into posts (post_no, {_COLUMNS}) {_POST}",
    f"insert into tasks (task, lane, target, ready, priority, state, added_at) values ({_FAR}, 1, 'far', 0, 1, 'asleep', 1)",
    f"insert into calls {_CALL}",
    f"insert into relations (rowid, kind, source, target, found_at, found_by, seen_at) values ({_FAR}, 'follow', 1, 2, 1, 1, 1)",
    f"insert into reactions (rowid, post_no, kind, user_no, found_at, found_by, seen_at) values ({_FAR}, 1, 'like', 1, 1, 1, 1)",
    f"insert into media_files (file, id, kind, url, state, due, found_at) values ({_FAR}, 'm', 'photo', 'u', 'kept', 1, 1)",
)


class Explained:
    """A SQLite database that remembers how it answers what it is asked."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect
        self.plans: list[tuple[str, str]] = []

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        async with self._database.reading() as tx:
            yield _Explaining(tx, self.plans)

    transaction = reading

    def any(self, kind: str) -> str:
        return self._database.any(kind)

    def members(self, values: Sequence[Any]) -> Any:
        return self._database.members(values)

    async def time(self) -> datetime | None:
        return None

    async def create_tables(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        await self._database.close()

    def whole_tables(self) -> list[str]:
        """The statements that read a large table from its beginning to its end."""
        return [sql for sql, plan in self.plans if "desc limit" not in sql and _whole_table(sql, plan) in _LARGE]


def _whole_table(sql: str, plan: str) -> str:
    """The table that this step reads as a whole; empty if it looks something up."""
    found = _WHOLE.match(plan)
    names = {alias: table for table, alias in _NAMED.findall(sql)}
    return names.get(found[1], found[1]) if found else ""


class _Explaining:
    def __init__(self, tx: Transaction, plans: list[tuple[str, str]]) -> None:
        self._tx, self._plans = tx, plans
        self.execute, self.execute_many = tx.execute, tx.execute_many
        self.after_commit, self.on_rollback = tx.after_commit, tx.on_rollback

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        self._plans += [(sql, row["detail"]) for row in await self._tx.fetch(f"explain query plan {sql}", *values)]
        return await self._tx.fetch(sql, *values)

    async def fetch_one(self, sql: str, *values: Any) -> Row | None:
        rows = await self.fetch(sql, *values)
        return rows[0] if rows else None


@pytest.fixture
async def large(tmp_path: Path) -> AsyncIterator[Explained]:
    database = await open_database(str(tmp_path / "large.db"), RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        for statement in _ROWS:
            await tx.execute(statement)
    explained = Explained(database)
    yield explained
    await explained.close()


async def test_the_test_itself_notices_a_whole_table(large: Explained) -> None:
    async with large.reading() as tx:
        await tx.fetch("select h.at from user_history h where h.before like '%handle%'")
    assert large.whole_tables() == ["select h.at from user_history h where h.before like '%handle%'"]


async def test_status_reads_no_whole_table(large: Explained) -> None:
    await Reader(large).summary()
    await read_health(large)
    assert large.whole_tables() == []


@pytest.mark.parametrize("text", ["@ada", "ADA", "@ada@one.example", "x:1", "12345"])
async def test_a_history_reads_no_whole_table(large: Explained, text: str) -> None:
    await find_history(large, text)
    assert large.whole_tables() == []


async def test_a_page_and_a_count_by_time_read_no_whole_table(large: Explained) -> None:
    for ask in (Ask(), Ask(newest_first=False)):
        await browse_users(large, ask)
        await browse_posts(large, ask)
        await browse_posts(large, ask, PostFilter(author="x:far"))
        await browse_relations(large, "x:far", Side.FOLLOWERS, ask)
    now = RealClock().now()
    await found_by_time(large, Subject.POST, Unit.DAY, now - timedelta(days=2), now)
    await calls_by_time(large, Unit.DAY, now - timedelta(days=2), now)
    assert [sql for sql in large.whole_tables() if " limit ?" not in sql] == []


async def test_what_is_gone_is_found_without_reading_what_is_not(large: Explained) -> None:
    for what in KINDS:
        assert [line async for line in read_deletions(large, what)] == []
    assert large.whole_tables() == []
