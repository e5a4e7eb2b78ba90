"""Single rows of a table by number, as an export would tell them, for those who look at a few."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from bowerbird.clock import from_micros
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Numbers
from bowerbird.reports.blocks.fetching import packed
from bowerbird.reports.blocks.fills import Fill, Names, Parts, PartsOfFew, remember_names
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
    steps = _steps(table, database, columns)
    if columns is not None:
        table = table.narrowed({*columns, *(name for fill in steps for name in fill.needs)})
    keys = ", ".join(table.keys)
    select = f"select {', '.join([*table.keys, *table.columns.values()])} from {table.tables} where {table.where} and {condition}"
    found = await tx.fetch_columns(f"{select} order by {keys}", *values)
    if not found:
        return []
    own, asked = found[: len(table.keys)], dict(zip(table.columns, found[len(table.keys) :], strict=True))
    filled, kept = await _filled(tx, table, steps, asked)
    told = {name: _told(name, [column[place] for place in kept]) for name, column in asked.items()} | filled
    rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
    return list(zip(zip(*([_plain(column[place]) for place in kept] for column in own), strict=True), rows, strict=True))


async def _filled(
    tx: Transaction, table: Table, steps: Sequence[Fill], columns: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, list[Any]], list[int]]:
    """What is looked up besides, by columns, and the places of the rows that may be told. Packed is only what the steps need: of
    a few rows that takes longer than anything else."""
    needed = {name for fill in steps for name in fill.needs}
    rows = len(next(iter(columns.values())))
    kinds = dict(zip((*table.keys, *table.columns), table.kinds(), strict=True))
    block = Block(rows, {name: packed(kinds[name], columns[name]) for name in needed}, (Numbers(np.arange(rows)),), ())
    names = [fill for fill in steps if isinstance(fill, Names)]
    if len(names) > 1:
        await remember_names(tx, block, names)
    for fill in steps:
        if block.rows:
            await fill.fill(tx, block)
    given = {name for fill in steps for name in fill.gives} & block.columns.keys()
    kept: list[Any] = block.keys[0].listed()
    return {name: _told(name, block.columns[name].listed()) for name in given}, kept


def _steps(table: Table, database: Database, columns: Collection[str] | None) -> list[Fill]:
    """What must be filled in for these columns."""
    steps = fills(table, database)
    if columns is not None:
        steps = [fill for fill in steps if fill.leaves_out or not set(columns).isdisjoint(fill.gives)]
    parts = [fill for fill in steps if isinstance(fill, Parts)]
    return [*(fill for fill in steps if not isinstance(fill, Parts)), PartsOfFew(parts)] if len(parts) > 1 else steps


def _told(name: str, values: list[Any]) -> list[Any]:
    if name.endswith("_at"):
        return [None if value is None else from_micros(value) for value in values]
    if name.startswith("is_"):
        return [None if value is None else bool(value) for value in values]
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
