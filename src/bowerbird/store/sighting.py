"""One page being saved: in which transaction, where it came from and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bowerbird.ports import Database, Row, Transaction


class Sighting(Struct, frozen=True, kw_only=True):
    """What every table family needs to write its rows with their provenance."""

    tx: Transaction
    database: Database
    service: int
    service_name: str
    network: str
    call: int
    at: int
    """Microseconds since the epoch."""

    async def fetch_in(self, sql: str, members: Iterable[Any], *before: Any) -> list[Row]:
        """Rows of a statement whose last parameter is a list; asks nothing when the list is empty."""
        values = list(members)
        return list(await self.tx.fetch(sql, *before, self.database.members(values))) if values else []

    async def execute_in(self, sql: str, members: Iterable[Any], *before: Any) -> int:
        values = list(members)
        return await self.tx.execute(sql, *before, self.database.members(values)) if values else 0

    async def execute_many(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        if rows:
            await self.tx.execute_many(sql, rows)

    async def observed_at(self) -> int:
        """The earliest time at which the service can have said this: when the call was leased, or now if it is not logged."""
        row = await self.tx.fetch_one("select leased_at from calls where call = ?", self.call)
        return self.at if row is None else int(row["leased_at"])


def listed(database: Database, kind: str) -> str:
    """A table of one column `value` made from one list parameter, for inserting many rows with one statement."""
    return "json_each(?)" if database.dialect == "sqlite" else f"unnest(?::{kind}[]) as listed (value)"
