"""One page being saved: in which transaction, where it came from and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, field

from bowerbird.db.sqlite.short_columns import filled_columns
from bowerbird.db.texts import Checked
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.numbers import LAST_POST
from bowerbird.store.people.names import has_local_keys, id_for, ids_for
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


class Origin(Struct, frozen=True, kw_only=True):
    """The service that said something."""

    number: int = 0
    """Of its row."""
    name: str = ""
    network: str = ""
    homes: tuple[str, ...] = ()
    """How the ids begin that the service is at home with, on a network of many servers."""

    @property
    def has_local_keys(self) -> bool:
        return has_local_keys(self.network)

    def id_of(self, key: str) -> str:
        """The global id of what the service calls so; a provisional one where only the subject itself can tell the real one."""
        return id_for(self.network, self.name, key)

    def ids_of(self, keys: Iterable[str]) -> dict[str, str]:
        """The same for many, by key."""
        return ids_for(self.network, self.name, keys)


NOBODY = Origin()
"""Of changes that no service asked for: our own, and our user's."""


class SaveContext(Struct, frozen=True, kw_only=True):
    """What every table family needs to write its rows with their provenance."""

    tx: Transaction
    database: Database
    at: int
    """Microseconds since the epoch."""
    origin: Origin = NOBODY
    call: int = 0
    is_live: bool = False
    """Heard on a stream, just now; but a stream repeats itself after a cut, so that what it says may be old."""
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

    async def insert_posts(self, told: Mapping[str, Sequence[Any]]) -> tuple[dict[str, int], Writes]:
        """Inserts posts of a cleaned page that are not there yet, by their columns; answers their numbers, and what is left to
        be written. On SQLite, where one process writes, the caller has looked whether they are."""
        ids = told["id"]
        # In one order everywhere, so that two transactions never wait for each other in a circle.
        order = sorted(range(len(ids)), key=ids.__getitem__)
        if self.database.dialect != "sqlite":
            rows = list(zip(*told.values(), strict=True))
            return await self._insert_beside_others(tuple(told), [rows[at] for at in order])
        (last,) = await self.tx.fetch(LAST_POST)
        first = max(last["there"], last["ever"]) + 1
        filled, kept = filled_columns(told)
        ordered_rows = [kept[at] for at in order]
        if last["ever"] > last["there"]:
            filled, ordered_rows = ("post_no", *filled), [(number, *row) for number, row in enumerate(ordered_rows, first)]
        await self.tx.execute_many(_insert(filled, False), Checked(ordered_rows))
        # Each new row has the number after the highest one.
        return {ids[at]: number for number, at in enumerate(order, first)}, []

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


def found_in(database: Database, table: str, column: str, kind: str) -> str:
    """From which rows a statement reads that is told a list of different values: those with one of them in the column. Columns
    are to be named with their table."""
    if database.dialect == "sqlite":
        # A cross join: the list is gone through, in two thirds of the time that it takes to make a set of it first.
        return f"json_each(?) as wanted cross join {table} where {table}.{column} = wanted.value"
    return f"{table} where {table}.{column} {database.any(kind)}"


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
