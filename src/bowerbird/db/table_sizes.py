"""How large a database is: every table and index with its rows and bytes, told without reading the tables.

PostgreSQL knows both. SQLite knows how large the whole file is: what each table and index takes of it is estimated from a few of
its rows, and all of them together are made to fit the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from bowerbird.ports import Transaction

_EXACT = 20_000
"""Up to so many rows a table is counted."""
_COUNTED = 5_000
"""Up to so many rows an index with a condition is counted; one with more is taken to have them all."""
_SAMPLED = 20
_ROW, _NUMBER, _POINTER = 6, 4, 5
"""Bytes that SQLite takes on average for a row besides its values, for a number, and for the row that an index entry leads to."""
_POSTGRES = """
select c.relname as name, t.relname as of, c.reltuples::bigint as rows, t.reltuples::bigint as of_rows,
    case when i.indexrelid is null then pg_table_size(c.oid) else pg_relation_size(c.oid) end as bytes
from pg_class c left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'i') order by c.relname
"""
_POSTGRES_WHOLE = "select pg_database_size(current_database()) as size"
_SQLITE = """
select name, type, tbl_name, sql from sqlite_master where type in ('table', 'index') and name not like 'sqlite_stat%' order by 1
"""
_SQLITE_WHOLE = "select page_count * page_size as size from pragma_page_count(), pragma_page_size()"


class Sized(Struct, frozen=True, kw_only=True):
    """One table or index."""

    name: str
    of: str | None
    """The table of an index; None: it is a table."""
    rows: int
    is_exact: bool
    """The rows were counted; otherwise they are estimated."""
    bytes: int


async def whole_size(tx: Transaction, dialect: str) -> int:
    """Bytes of the whole database."""
    row = await tx.fetch_one(_SQLITE_WHOLE if dialect == "sqlite" else _POSTGRES_WHOLE)
    return int(row["size"]) if row else 0


async def table_sizes(tx: Transaction, dialect: str) -> list[Sized]:
    """Every table and index. In SQLite the bytes are estimates, and some hundred statements are asked."""
    found = await (_in_sqlite(tx) if dialect == "sqlite" else _in_postgres(tx))
    return sorted(found, key=lambda each: (-each.bytes, each.name))


async def _in_postgres(tx: Transaction) -> list[Sized]:
    found = []
    for row in await tx.fetch(_POSTGRES):
        rows, is_exact = int(row["of_rows"] if row["of"] else row["rows"]), False
        if row["of"] is None and rows <= _EXACT:
            rows, is_exact = await _counted(tx, row["name"]), True
        found.append(Sized(name=row["name"], of=row["of"], rows=max(0, rows), is_exact=is_exact, bytes=int(row["bytes"])))
    tables = {each.name: each for each in found if each.of is None}
    return [_as_its_table(each, tables.get(each.of or "")) for each in found]


def _as_its_table(index: Sized, table: Sized | None) -> Sized:
    return index if table is None else structs.replace(index, rows=table.rows, is_exact=table.is_exact)


async def _in_sqlite(tx: Transaction) -> list[Sized]:
    indexes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    tables = []
    for row in await tx.fetch(_SQLITE):
        if row["type"] == "table":
            tables.append(row["name"])
        else:
            indexes[row["tbl_name"]][row["name"]] = row["sql"] or ""
    found = [each for table in tables for each in await _estimated(tx, table, indexes[table])]
    return _fitted(found, await whole_size(tx, "sqlite"))


async def _estimated(tx: Transaction, table: str, indexes: Mapping[str, str]) -> list[Sized]:
    rows, is_exact = await _rows(tx, table)
    widths = await _widths(tx, table) if rows else {}
    found = [Sized(name=table, of=None, rows=rows, is_exact=is_exact, bytes=round(rows * (_ROW + sum(widths.values()))))]
    for index, sql in indexes.items():
        columns = [row["name"] for row in await tx.fetch("select name from pragma_index_info(?)", index)]
        width = _POINTER + sum(widths.get(column, _NUMBER) for column in columns if column)
        entries = await _entries(tx, table, index, sql, rows)
        found.append(Sized(name=index, of=table, rows=entries, is_exact=is_exact, bytes=round(entries * width)))
    return found


async def _entries(tx: Transaction, table: str, index: str, sql: str, rows: int) -> int:
    """How many rows an index has: one with a condition may have few of a large table."""
    condition = re.split(r"\bwhere\b", sql, maxsplit=1, flags=re.IGNORECASE)[1:]
    if not condition or not rows:
        return rows
    few = f'select 1 from "{table}" indexed by "{index}" where {condition[0]} limit {_COUNTED}'
    row = await tx.fetch_one(f"select count(*) as n from ({few}) as few")
    found = int(row["n"]) if row else 0
    return found if found < _COUNTED else rows


async def _rows(tx: Transaction, table: str) -> tuple[int, bool]:
    row = await tx.fetch_one(f'select max(rowid) as top from "{table}"')
    top = int(row["top"] or 0) if row else 0
    return (top, False) if top > _EXACT else (await _counted(tx, table), True)


async def _counted(tx: Transaction, table: str) -> int:
    row = await tx.fetch_one(f'select count(*) as n from "{table}"')
    return int(row["n"]) if row else 0


async def _widths(tx: Transaction, table: str) -> dict[str, float]:
    """Mean bytes of each column, in the newest rows: others would have to be read from all over the file."""
    columns = [row["name"] for row in await tx.fetch("select name from pragma_table_info(?)", table)]
    means = ", ".join(f"""avg(case when typeof("{each}") in ('text', 'blob') then length(cast("{each}" as blob))
        when "{each}" is null then 0 else {_NUMBER} end) as "{each}" """ for each in columns)  # fmt: skip
    newest = f'select * from "{table}" order by rowid desc limit {_SAMPLED}'
    row = await tx.fetch_one(f"select {means} from ({newest})")
    return {each: float(row[each] or 0) for each in columns} if row else {}


def _fitted(found: Sequence[Sized], whole: int) -> list[Sized]:
    """The same, so that together they take what the file does."""
    total = sum(each.bytes for each in found)
    return [structs.replace(each, bytes=round(each.bytes * whole / total)) for each in found] if total else list(found)
