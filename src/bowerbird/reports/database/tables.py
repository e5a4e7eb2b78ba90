"""Tables and indexes: how large, how they grew by the growth log, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.db.table_sizes import Sized, table_sizes, whole_size
from bowerbird.errors import UserError
from bowerbird.modules.tending.growth import DATABASE
from bowerbird.ports import Database, Transaction

_MOST_POINTS = 2_000
_LOG = "select at, rows, is_exact, bytes from growth where name = ? order by at desc limit ?"
_BEFORE = """
select g.name, g.rows, g.bytes, g.at from growth g join
    (select name, max(at) as at from growth where at <= ? group by name) l on l.name = g.name and l.at = g.at
"""
_COLUMNS = {
    "sqlite": """select name, type, "notnull" as needed, pk as key from pragma_table_info(?) order by cid""",
    "postgresql": """
select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, case when a.attnotnull then 1 else 0 end as needed,
    coalesce((select 1 from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any(i.indkey)), 0) as key
from pg_attribute a where a.attrelid = to_regclass(cast(? as text)) and a.attnum > 0 and not a.attisdropped order by a.attnum
""",
}
_INDEXES = {
    "sqlite": """
select name, coalesce(sql, 'made by the database for a key') as told from sqlite_master where type = 'index' and tbl_name = ?
order by name
""",
    "postgresql": """
select indexname as name, indexdef as told from pg_indexes where schemaname = current_schema() and tablename = ? order by 1
""",
}
_TABLES = {
    "sqlite": "select name from sqlite_master where type = 'table' and name = ?",
    "postgresql": "select tablename as name from pg_tables where schemaname = current_schema() and tablename = ?",
}


class Point(Struct, frozen=True):
    """How large something was at a time."""

    at: datetime
    rows: int
    is_exact: bool
    bytes: int | None


class Column(Struct, frozen=True):
    name: str
    type: str
    is_needed: bool
    is_key: bool


class Structure(Struct, frozen=True, kw_only=True):
    """What a table is made of."""

    table: str
    columns: tuple[Column, ...]
    indexes: Mapping[str, str]
    """By name, each as it was made."""


class Before(Struct, frozen=True):
    """What the growth log has of something, at the last look before a time."""

    rows: int
    bytes: int | None
    at: datetime


class Sizes(Struct, frozen=True, kw_only=True):
    """All tables and indexes, the largest first."""

    whole: int
    tables: tuple[Sized, ...]


async def read_sizes(database: Database) -> Sizes:
    """How large everything is. In SQLite it takes some hundred small statements: not for every request."""
    async with database.reading() as tx:
        return Sizes(whole=await whole_size(tx, database.dialect), tables=tuple(await table_sizes(tx, database.dialect)))


async def read_log(tx: Transaction, name: str = DATABASE) -> list[Point]:
    """How large a table, an index or the whole database was, as the growth log has it, oldest first."""
    rows = await tx.fetch(_LOG, name, _MOST_POINTS)
    return [Point(from_micros(row["at"]), row["rows"], bool(row["is_exact"]), row["bytes"]) for row in reversed(rows)]


async def read_before(tx: Transaction, when: datetime) -> dict[str, Before]:
    """By name what the growth log had at a time."""
    rows = await tx.fetch(_BEFORE, to_micros(when))
    return {row["name"]: Before(row["rows"], row["bytes"], from_micros(row["at"])) for row in rows}


async def read_structure(tx: Transaction, dialect: str, table: str) -> Structure:
    """Raises `UserError` where there is no such table."""
    if await tx.fetch_one(_TABLES[dialect], table) is None:
        raise UserError(f"there is no table {table!r} in this store", code="unknown_name")
    columns = tuple(
        Column(row["name"], row["type"], bool(row["needed"]), bool(row["key"]))
        for row in await tx.fetch(_COLUMNS[dialect], table)
    )
    indexes = {row["name"]: row["told"] for row in await tx.fetch(_INDEXES[dialect], table)}
    return Structure(table=table, columns=columns, indexes=indexes)


class Filling(Struct, frozen=True, kw_only=True):
    """How fast a database grows, and when the disk under it is full."""

    a_day: float
    """Bytes."""
    over: timedelta
    """The time that this was measured over."""
    full_at: datetime | None
    """None: it does not grow, or not within ten years, or its disk is that of another machine."""


def filling(log: Sequence[Point], free: int | None, now: datetime) -> Filling | None:
    """By the growth log of the last month; None where it has not two looks that are a while apart. `free`: bytes left on
    its disk; None: nobody knows."""
    known = [point for point in log if point.bytes is not None and point.at >= now - timedelta(days=30)]
    if len(known) < 2 or known[-1].at - known[0].at < timedelta(minutes=30):
        return None
    over = known[-1].at - known[0].at
    a_day = ((known[-1].bytes or 0) - (known[0].bytes or 0)) / (over / timedelta(days=1))
    days = free / a_day if free is not None and a_day > 0 else float("inf")
    return Filling(a_day=a_day, over=over, full_at=now + timedelta(days=days) if days < 3650 else None)
