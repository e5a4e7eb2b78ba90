"""Indexes whose first column is the million in which a row was added.

What stands anywhere in an index is written to a page of its own. Here it stands anywhere among the last million rows, so that a
transaction of many rows writes each page for many of them. Whoever asks by the other columns looks into each million.
"""

from __future__ import annotations

from typing import Any

from bowerbird.ports import Transaction

_MILLION = ">> 20"
_FEW = "{} 131072 10"
"""Rows in all, in each million, and for each value in it."""
_ALL, _SOME = 1_048_576, 524_288
"""As many rows as SQLite assumes where it has counted none: in an index, and in one of only some rows of a table."""
_MADE = "select name, tbl_name, sql from sqlite_master where type = 'index' and instr(sql, ?)"
_COUNTED = "select name from sqlite_master where name in ('sqlite_stat1', 'sqlite_stat4')"


async def tell_planner(tx: Transaction) -> None:
    """Says of all such indexes that they hold few millions, in the table in which SQLite keeps what it has counted.

    It leaves out a first column that a question does not name only where it believes that this has few values. The other numbers
    are those that it assumes of a table of which nothing was counted. To be called whenever a store is opened to be written:
    `analyze` and `pragma optimize`, which some programs run by themselves, write there what they count, and in a young store that
    is nothing."""
    wanted = [
        (row["tbl_name"], row["name"], _FEW.format(_SOME if " where " in row["sql"] else _ALL))
        for row in await tx.fetch(_MADE, f"{_MILLION},")
    ]
    if not wanted or set(wanted) <= await _told(tx):
        return
    await tx.execute("analyze highest_numbers")
    await tx.execute("delete from sqlite_stat1 where tbl = 'highest_numbers'")
    for table, name, few in wanted:
        for counted in await tx.fetch(_COUNTED):
            await tx.execute(f"delete from {counted['name']} where idx = ?", name)
        await tx.execute("insert into sqlite_stat1 (tbl, idx, stat) values (?, ?, ?)", table, name, few)
    await tx.execute("analyze sqlite_schema")


async def _told(tx: Transaction) -> set[tuple[Any, ...]]:
    is_there = await tx.fetch("select 1 from sqlite_master where name = 'sqlite_stat1'")
    return {tuple(row) for row in await tx.fetch("select tbl, idx, stat from sqlite_stat1")} if is_there else set()


def by_number(number: str, way: str) -> str:
    """How rows that such an index finds are asked for in the order of their numbers, `asc` or `desc`: as the index has them, so
    that SQLite sorts nothing. To a server it is the same order."""
    return f"{number} {_MILLION} {way}, {number} {way}"
