"""Blocks of a table one after the other, of one moment: memory holds one block, and each says where the next begins."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from bowerbird.db.sqlite.millions import by_number
from bowerbird.errors import TooMuch
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import Block, Key
from bowerbird.reports.blocks.columns import Column
from bowerbird.reports.blocks.fetching import fetch_packed
from bowerbird.reports.blocks.payloads import Payloads
from bowerbird.reports.blocks.selection.choosing import Choice, Conditions, conditions, keep_words
from bowerbird.reports.blocks.selection.sampling import RowSample
from bowerbird.reports.blocks.tables import Table, fills
from bowerbird.reports.texts import plain

ROWS = 10_000
NO_CHOICE = Choice()
_CACHE = 16 * 1024
"""Kilobytes."""


class BlockReader:
    """Reads the chosen rows of one table; the database is a moment that does not change (`one_moment`)."""

    def __init__(
        self, database: Database, table: Table, choice: Choice = NO_CHOICE, *, sample: RowSample | None = None, rows: int = ROWS
    ) -> None:
        """`rows`: of one block."""
        self._database = database
        self._rows = rows
        self.table = table
        self._choice = choice
        self._sample = sample
        self._fills = fills(table, database)
        self._payloads = Payloads(database, table)

    async def blocks(self, after: Key | None = None, *, raw: bool = False) -> AsyncGenerator[Block, None]:
        """Everything after a key, in the order of keys; blocks may be empty where nothing of them is wanted. `raw`: with a
        column of payloads."""
        async with self._database.reading() as tx:
            if self._database.dialect == "sqlite":
                # Every page is read once and not again: to remember more of them is of no use, and fills memory in large stores.
                await tx.execute(f"pragma cache_size = -{_CACHE}")
            where = await conditions(self._database, tx, self.table, self._choice)
        while True:
            async with self._database.reading() as tx:
                block = await self._next(tx, where, after)
            if block is None:
                return
            if raw:
                await self._payloads.fill(block)
            after = block.last
            yield block

    async def last(self) -> Key | None:
        """The key of the last row of the table as it is now, chosen or not; None where it is empty."""
        keys = ", ".join(self.table.keys)
        order = ", ".join(f"{key} desc" for key in self.table.keys)
        source = self.table.tables.split(" ")
        async with self._database.reading() as tx:
            found = await tx.fetch_columns(f"select {keys} from {source[0]} {source[1]} order by {order} limit 1")
        return tuple(plain(column[0]) for column in found) or None

    async def _next(self, tx: Transaction, where: Conditions, after: Key | None) -> Block | None:
        found = await self._found(tx, where, after, self._rows)
        if not found:
            return None
        keys, rest = found[: len(self.table.keys)], found[len(self.table.keys) :]
        block = Block(len(keys[0]), dict(zip(self.table.columns, rest, strict=True)), tuple(keys), ())
        block.last = block.key(-1)
        for fill in self._fills:
            if block.rows:
                await fill.fill(tx, block)
        if block.rows:
            keep_words(self.table, block, self._choice.words)
            if self._sample is not None:
                block.keep(self._sample.chosen(self.table, block))
        return block

    async def _found(self, tx: Transaction, where: Conditions, after: Key | None, rows: int) -> list[Column]:
        statement, values = self._statement(where, after, rows)
        try:
            return await fetch_packed(self._database, tx, statement, self.table.kinds(), *values)
        except TooMuch:
            if rows == 1:
                raise
            return await self._found(tx, where, after, rows // 2)

    def _statement(self, where: Conditions, after: Key | None, rows: int) -> tuple[str, tuple[Any, ...]]:
        table = self.table
        keys = ", ".join(table.keys)
        beyond, given = ("", ()) if after is None else (f" and ({keys}) > ({', '.join('?' * len(after))})", after)
        select = f"select {keys}, {', '.join(table.columns.values())} from {table.tables} where {where.sql}{beyond}"
        # The posts of one author as their index has them, so that each block reads no more than it holds.
        order = by_number(keys, "asc") if table.name == "posts" and self._choice.users else keys
        return f"{select} order by {order} limit {rows}", (*where.values, *given)
