"""Reports that look many times and still tell of one moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any

from bowerbird.errors import StoreError
from bowerbird.ports import Database, Transaction


@asynccontextmanager
async def one_moment(database: Database) -> AsyncIterator[Database]:
    """The database as it is now: whoever reads from it sees this moment, however long and often; it cannot be written."""
    async with database.reading() as tx:
        yield _Moment(database, tx)


class _Moment:
    """Implements `ports.Database` over one view of another."""

    def __init__(self, database: Database, tx: Transaction) -> None:
        self._database = database
        self._tx = tx
        self.dialect = database.dialect

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        raise StoreError("a moment that has passed cannot be written", "open the database itself", code="unsupported")

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        yield self._tx

    async def time(self) -> datetime | None:
        return await self._database.time()

    def any(self, kind: str) -> str:
        return self._database.any(kind)

    def members(self, values: Sequence[Any]) -> Any:
        return self._database.members(values)

    async def create_tables(self) -> None:
        raise StoreError("A snapshot is read-only.", "Open the database itself.", code="unsupported")

    async def close(self) -> None:
        """Nothing: who opened the database closes it."""
