"""Single rows of a table by number, as an export would tell them, for those who look at a few."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bowerbird.clock import from_micros
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Column, Lists
from bowerbird.reports.blocks.fetching import fetch_packed
from bowerbird.reports.blocks.tables import Table, fills

Picked = dict[str, Any]
"""Values by column: times are zoned, lists are lists of texts, None is unknown."""


async def pick(
    database: Database, tx: Transaction, table: Table, numbers: Sequence[int], *, columns: Collection[str] | None = None
) -> dict[int, Picked]:
    """The rows with these numbers that are there, by number; the table has one key. `columns`: those that are wanted."""
    (key,) = table.keys
    condition, members = f"{key} {database.any('bigint')}", database.members(sorted(set(numbers)))
    return {row[0]: told for row, told in await picked(database, tx, table, condition, members, columns=columns)}


async def picked(
    database: Database, tx: Transaction, table: Table, condition: str, *values: Any, columns: Collection[str] | None = None
) -> list[tuple[tuple[Any, ...], Picked]]:
    """The rows that meet a condition, each with its key, in the order of keys. `columns`: those that are wanted; what only the
    others need is not asked for, and some of them may be told all the same."""
    steps = fills(table, database)
    if columns is not None:
        steps = [fill for fill in steps if fill.leaves_out or not set(columns).isdisjoint(fill.gives)]
        table = table.narrowed({*columns, *(name for fill in steps for name in fill.needs)})
    keys = ", ".join(table.keys)
    select = f"select {', '.join([*table.keys, *table.columns.values()])} from {table.tables} where {table.where} and {condition}"
    found = await fetch_packed(database, tx, f"{select} order by {keys}", table.kinds(), *values)
    if not found:
        return []
    own, rest = found[: len(table.keys)], found[len(table.keys) :]
    block = Block(len(own[0]), dict(zip(table.columns, rest, strict=True)), tuple(own), ())
    for fill in steps:
        if block.rows:
            await fill.fill(tx, block)
    told = {name: _told(name, column) for name, column in block.columns.items()}
    rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
    return list(zip(zip(*(_told("", column) for column in block.keys), strict=True), rows, strict=True))


def _told(name: str, column: Column) -> list[Any]:
    values: list[Any] = column.listed()
    if isinstance(column, Lists):
        return [[_plain(part) for part in each] for each in values]
    if name.endswith("_at"):
        return [None if value is None else from_micros(value) for value in values]
    if name.startswith("is_"):
        return [None if value is None else bool(value) for value in values]
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
