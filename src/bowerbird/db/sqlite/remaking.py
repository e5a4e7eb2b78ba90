"""Tables of SQLite that get another definition: made anew, for what `alter table` cannot change there, or with columns that are
stored under another name from now on."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

from bowerbird.db.sqlite.short_addresses import address_in_sql, written_url
from bowerbird.db.sqlite.short_columns import IMPLIED_COLUMNS, implied_in_sql, shortened_in_sql, whole_in_sql, written
from bowerbird.errors import StoreError
from bowerbird.ports import Transaction

_AT_ONCE = 50_000
_MANY = 500_000
"""Rows from which on it takes long enough to be told about."""
_log = logging.getLogger(__name__)


async def remake(tx: Transaction, table: str, before: str, after: str) -> None:
    """Replaces a part of the table's definition and keeps its rows, indexes and numbers, all in the caller's transaction."""
    made = await _definition(tx, table)
    if before not in made:
        raise StoreError(f"cannot bring the table {table} up to date: its definition does not say {before!r}")
    await _replace(tx, table, made.replace(before, after), {})


async def shorten(tx: Transaction, table: str, *columns: str) -> None:
    """Keeps the ids in these columns short from now on, and reads them as before."""
    made = await _definition(tx, table)
    for column in columns:
        short = written("sqlite", column)
        kept = rf"{short} text\1, {column} text generated always as ({whole_in_sql(short)}) virtual"
        made, found = re.subn(rf"\b{column} text( not null)?(?=[,\n)])", kept, made, count=1)
        if not found:
            raise StoreError(f"cannot bring the table {table} up to date: its definition has no text {column!r}")
    await _replace(tx, table, made, {written("sqlite", column): shortened_in_sql(column) for column in columns})


async def imply(tx: Transaction, table: str, *columns: str) -> None:
    """Stores these columns under another name from now on, shorter where something else in the row says it, and reads them as
    before. No row is touched: those that are there say everything themselves."""
    # Renaming a column would rename it in the views too.
    views = await _taken_views(tx)
    for column in columns:
        stored, read_as = _implied(table, column)
        (row,) = await tx.fetch("select type from pragma_table_info(?) where name = ?", table, column)
        await tx.execute(f"alter table {table} rename column {column} to {stored}")
        await tx.execute(f"alter table {table} add column {column} {row['type'].lower()} generated always as ({read_as}) virtual")
    for view in views:
        await tx.execute(view)


def _implied(table: str, column: str) -> tuple[str, str]:
    """Under which name it is stored, and how it is read."""
    if table == "posts" and column in IMPLIED_COLUMNS:
        return written("sqlite", column), implied_in_sql(column)
    if (table, column) == ("media", "url"):
        return written_url("sqlite"), address_in_sql()
    raise StoreError(f"cannot bring the table {table} up to date: nothing implies its column {column!r}")


async def index(tx: Transaction, *parts: str) -> None:
    """Makes an index, and says so where it takes long: `name on table (columns) where …`."""
    definition = ", ".join(parts)
    table = definition.split(" on ", 1)[1].split(maxsplit=1)[0]
    row = await tx.fetch_one(f"select max(rowid) as last from {table}")
    if row and (row["last"] or 0) >= _MANY:
        _log.warning("bringing the store up to date: the index %s, of about %s rows", definition.split()[0], f"{row['last']:,}")
    await tx.execute(f"create index {definition}")


async def number(tx: Transaction, table: str, column: str) -> None:
    """Gives the number of a row a name, so that an index can begin with it."""
    made = await _definition(tx, table)
    await _replace(tx, table, made.replace("(", f"(\n    {column} integer primary key,", 1), {column: "rowid"})


async def _definition(tx: Transaction, table: str) -> str:
    (row,) = await tx.fetch("select sql from sqlite_master where type = 'table' and name = ?", table)
    return str(row["sql"])


async def _replace(tx: Transaction, table: str, made: str, values: Mapping[str, str]) -> None:
    """The same rows in a table of this definition; `values` are those of columns that it did not have."""
    indexes = await tx.fetch("select sql from sqlite_master where type = 'index' and tbl_name = ? and sql is not null", table)
    # A view of a table that is not there for a moment would make the renaming fail.
    views = await _taken_views(tx)
    head, _, columns = made.partition("(")
    await tx.execute(f"{head.replace(table, f'{table}_anew')}({columns}")
    stored = [row["name"] for row in await tx.fetch(f"pragma table_info({table}_anew)")]
    await _copy(tx, table, stored, [values.get(name, name) for name in stored])
    await tx.execute(f"drop table {table}")
    await tx.execute(f"alter table {table}_anew rename to {table}")
    for index in indexes:
        await tx.execute(index["sql"])
    for view in views:
        await tx.execute(view)


async def _taken_views(tx: Transaction) -> list[str]:
    """What makes the views of the store, which are dropped."""
    views = await tx.fetch("select name, sql from sqlite_master where type = 'view' order by rowid")
    for view in views:
        # A researcher's own may have any name.
        await tx.execute('drop view "{}"'.format(view["name"].replace('"', '""')))
    return [str(view["sql"]) for view in views]


async def _copy(tx: Transaction, table: str, stored: Sequence[str], values: Sequence[str]) -> None:
    """Generated columns are not copied."""
    row = await tx.fetch_one(f"select count(*) as rows, coalesce(max(rowid), 0) as last from {table}")
    rows, last = (row["rows"], row["last"]) if row else (0, 0)
    copy = f"insert into {table}_anew ({', '.join(stored)}) select {', '.join(values)} from {table}"
    for after in range(0, last, _AT_ONCE):
        await tx.execute(f"{copy} where rowid > ? and rowid <= ?", after, after + _AT_ONCE)
        if rows >= _MANY and after % _MANY == 0:
            _log.warning("bringing the store up to date: the table %s, %d %% of %s rows", table, after * 100 // last, f"{rows:,}")
