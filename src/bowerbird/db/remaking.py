"""A table of SQLite made anew with another definition, for what `alter table` cannot change there."""

from __future__ import annotations

import logging

from bowerbird.errors import StoreError
from bowerbird.ports import Transaction

_AT_ONCE = 50_000
_MANY = 500_000
"""Rows from which on it takes long enough to be told about."""
_log = logging.getLogger(__name__)


async def remake(tx: Transaction, table: str, before: str, after: str) -> None:
    """Replaces a part of the table's definition and keeps its rows, indexes and numbers, all in the caller's transaction."""
    (made,) = [row["sql"] for row in await tx.fetch("select sql from sqlite_master where type = 'table' and name = ?", table)]
    if before not in made:
        raise StoreError(f"cannot bring the table {table} up to date: its definition does not say {before!r}")
    indexes = await tx.fetch("select sql from sqlite_master where type = 'index' and tbl_name = ? and sql is not null", table)
    views = await tx.fetch("select name, sql from sqlite_master where type = 'view'")
    for view in views:
        # A view of a table that is not there for a moment would make the renaming fail.
        await tx.execute(f"drop view {view['name']}")
    head, _, columns = made.partition("(")
    await tx.execute(f"{head.replace(table, f'{table}_anew')}({columns.replace(before, after)}")
    await _copy(tx, table, f"{table}_anew")
    await tx.execute(f"drop table {table}")
    await tx.execute(f"alter table {table}_anew rename to {table}")
    for index in indexes:
        await tx.execute(index["sql"])
    for view in views:
        await tx.execute(view["sql"])


async def _copy(tx: Transaction, table: str, copy: str) -> None:
    row = await tx.fetch_one(f"select count(*) as rows, coalesce(max(rowid), 0) as last from {table}")
    rows, last = (row["rows"], row["last"]) if row else (0, 0)
    for after in range(0, last, _AT_ONCE):
        await tx.execute(f"insert into {copy} select * from {table} where rowid > ? and rowid <= ?", after, after + _AT_ONCE)
        if rows >= _MANY and after % _MANY == 0:
            _log.warning("bringing the store up to date: the table %s, %d %% of %s rows", table, after * 100 // last, f"{rows:,}")
