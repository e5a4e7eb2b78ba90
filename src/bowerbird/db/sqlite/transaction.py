"""What is said to SQLite between the begin of a transaction and its commit."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bowerbird.db.hooks import Hooks
from bowerbird.db.texts import all_storable, storable
from bowerbird.errors import TooMuch
from bowerbird.ports import Row


class SqliteTransaction(Hooks):
    """Statements on one connection, between its begin and its commit."""

    def __init__(self, connection: Any) -> None:
        super().__init__()
        self.connection = connection

    async def execute(self, sql: str, *values: Any) -> int:
        return int(self.connection.execute(sql, storable(values)).rowcount)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self.connection.executemany(sql, all_storable(rows))

    async def execute_all(self, writes: Sequence[tuple[str, Sequence[Sequence[Any]] | None]]) -> None:
        for sql, rows in writes:
            if rows:
                await self.execute_many(sql, rows)

    async def fetch_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> Sequence[Row]:
        return [found for row in rows for found in await self.fetch(sql, *row)]

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]:
        rows: Sequence[Row] = self.connection.execute(sql, storable(values)).fetchall()
        return rows

    def fetch_now(self, sql: str, values: Sequence[Any]) -> Sequence[Row]:
        """The same without anything to await, for a thread."""
        rows: Sequence[Row] = self.connection.execute(sql, storable(values)).fetchall()
        return rows

    async def fetch_all(self, questions: Sequence[tuple[str, Sequence[Any]]]) -> Sequence[Sequence[Row]]:
        return [await self.fetch(sql, *values) for sql, values in questions]

    async def fetch_one(self, sql: str, *values: Any) -> Row | None:
        # fetchall, not fetchone: a statement with RETURNING must run to its end or it keeps the transaction open.
        rows: list[Row] = self.connection.execute(sql, storable(values)).fetchall()
        return rows[0] if rows else None

    async def fetch_columns(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        return self.columns_now(sql, values)

    def columns_now(self, sql: str, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """The same without anything to await."""
        cursor = self.connection.cursor()
        cursor.row_factory = None
        # Nobody else reads meanwhile: nothing is awaited. Texts as bytes save the way to letters and back.
        self.connection.text_factory = bytes
        try:
            with _without_collection():
                return list(zip(*cursor.execute(sql, storable(values)).fetchall(), strict=True))
        except self.connection.DataError as error:
            if "too big" in str(error):
                raise TooMuch(f"SQLite cannot hold an answer: {error}") from error
            raise
        finally:
            self.connection.text_factory = str


@contextmanager
def _without_collection() -> Iterator[None]:
    """Thousands of rows that come at once would be searched for circular garbage again and again: none can be among them."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
