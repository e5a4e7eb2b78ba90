"""One page being saved: in which transaction, where it came from and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, field

from bowerbird.db.sqlite.short_columns import filled_columns
from bowerbird.db.texts import Checked
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.posts.counting import PostCounting

COUNTERS_EVERY = int(timedelta(days=1) / timedelta(microseconds=1))


class Reserved(Struct):
    """What a page that is saved beside others may use before it is written."""

    names: set[str] = field(default_factory=set)
    """Ids of posts that nobody else can add until the transaction ends."""
    posts: dict[str, int] = field(default_factory=dict)
    """Numbers of such posts by their ids."""
    frames: list[int] = field(default_factory=list)


Writes = list[tuple[str, Sequence[Sequence[Any]] | None]]
"""What `execute_all` takes."""


class SaveContext(Struct, frozen=True, kw_only=True):
    """What every table family needs to write its rows with their provenance."""

    tx: Transaction
    database: Database
    service: int
    service_name: str
    network: str
    call: int
    at: int
    """Microseconds since the epoch."""
    is_live: bool = False
    """Heard on a stream, just now; but a stream repeats itself after a cut, so that what it says may be old."""
    homes: tuple[str, ...] = ()
    """How the ids begin that the service is at home with, on a network of many servers."""
    counters_every: int = COUNTERS_EVERY
    """Microseconds: counters move all the time, and alone they make a new line of history at most once in this time."""
    keeps_deleted: bool = False
    """What is deleted is marked as that, and its content stays."""
    reserved: Reserved = field(default_factory=Reserved)
    counting: PostCounting = field(default_factory=PostCounting)
    """What it changes in the kept counts of posts, until `save_counts` writes them."""

    async def fetch_in(self, sql: str, members: Iterable[Any], *before: Any) -> list[Row]:
        """Rows of a statement whose last parameter is a list; asks nothing when the list is empty."""
        values = list(members)
        return list(await self.tx.fetch(sql, *before, self.database.members(values))) if values else []

    async def execute_in(self, sql: str, members: Iterable[Any], *before: Any) -> int:
        values = list(members)
        return await self.tx.execute(sql, *before, self.database.members(values)) if values else 0

    async def execute_many(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        if rows:
            await self.tx.execute_many(sql, rows)

    async def insert_posts(self, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> tuple[dict[str, int], Writes]:
        """Inserts posts of a cleaned page that are not there yet, and answers their numbers, and what is left to be written. On
        SQLite, where one process writes, the caller has looked whether they are."""
        if not rows:
            return {}, []
        if self.database.dialect != "sqlite":
            return await self._insert_beside_others(columns, rows)
        filled, kept = filled_columns(columns, rows)
        await self.tx.execute_many(_insert(filled, False), Checked(kept))
        # Each new row has the number after the highest one.
        last = await self.tx.fetch("select last_insert_rowid() as number")
        return {row[0]: number for number, row in enumerate(rows, last[0]["number"] - len(rows) + 1)}, []

    async def _insert_beside_others(self, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> tuple[dict[str, int], Writes]:
        numbers = self.reserved.posts
        if all(row[0] in numbers for row in rows):
            numbered = Checked((numbers[row[0]], *row) for row in rows)
            return numbers, [(_insert(("post_no", *columns), False), numbered)]
        found = await self.tx.fetch_many(_insert(columns, True), Checked(rows))
        return {row["id"]: row["post_no"] for row in found}, []

    async def observed_at(self) -> int:
        """The earliest time at which the service can have said this: when the call was leased, or now if it is not logged."""
        if self.is_live:
            # Later than the page before it, which may have been heard at the same instant.
            return self.at + 1
        row = await self.tx.fetch_one("select leased_at from calls where call = ?", self.call)
        return self.at if row is None else int(row["leased_at"])


@cache
def _insert(columns: tuple[str, ...], is_unique: bool) -> str:
    places = ", ".join("?" for _ in columns)
    again = " on conflict (id) do nothing returning id, post_no" if is_unique else ""
    return f"insert into posts ({', '.join(columns)}) values ({places}){again}"


def listed(database: Database, kind: str) -> str:
    """A table of one column `value` made from one list parameter, for inserting many rows with one statement."""
    return "json_each(?)" if database.dialect == "sqlite" else f"unnest(?::{kind}[]) as listed (value)"


def tabled(database: Database) -> str:
    """A table of one column `value` made from one JSON parameter, a list of lists: `value ->> 0` is text or number."""
    return "json_each(?)" if database.dialect == "sqlite" else "jsonb_array_elements(?::jsonb) as listed (value)"


def as_table(rows: Sequence[Sequence[Any]]) -> str:
    """The parameter that `tabled` expects."""
    return msgspec.json.encode(rows).decode()


def ordered(database: Database, number: str, strength: str = "no key update") -> str:
    """The end of a statement that reads rows to change them: it locks them in the order of their numbers."""
    return f" order by {number} for {strength}" if database.dialect == "postgresql" else ""
