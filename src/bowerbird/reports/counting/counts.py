"""Counting rows of tables that may hold millions: exactly while they are small, from an even sample of blocks after that."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from bowerbird.ports import Database, Transaction

EXACT = 100_000
"""Up to this size a full count takes milliseconds."""
_BLOCKS = 50
_BLOCK = 500
"""25,000 rows in all: shares are true to less than a hundredth, and millions take no longer than 100,000."""


class Count(Struct, frozen=True):
    """A number of rows, and whether it was counted or estimated."""

    value: int
    is_exact: bool = True


class Counter:
    """Counts in one database; `number` is the serial key of the table."""

    def __init__(self, database: Database, *, exact: int = EXACT) -> None:
        self._database = database
        self._exact = exact

    async def total(self, tx: Transaction, table: str) -> Count:
        size = await self._size(tx, table)
        if size > self._exact:
            return Count(size, is_exact=False)
        row = await tx.fetch_one(f"select count(*) as n from {table}")
        return Count(int(row["n"]) if row else 0)

    async def by(self, tx: Transaction, table: str, number: str, parts: Mapping[str, str]) -> dict[tuple[object, ...], Count]:
        """Rows for each combination of some values, given as name and expression."""
        row = await tx.fetch_one(f"select max({number}) as top from {table}")
        where, scale = self._sample(number, int(row["top"] or 0) if row else 0)
        chosen = ", ".join(f"{expression} as {name}" for name, expression in parts.items())
        names = ", ".join(parts)
        # Materialised: or else the whole table may be read in the order of the groups, to save sorting the few rows of a sample.
        how = "as materialized" if where else "as"
        sampled = f"with sampled {how} (select {chosen} from {table} {where})"
        rows = await tx.fetch(f"{sampled} select {names}, count(*) as n from sampled group by {names} order by {names}")
        return {tuple(row[name] for name in parts): Count(round(row["n"] * scale), is_exact=scale == 1.0) for row in rows}

    def _sample(self, number: str, top: int) -> tuple[str, float]:
        if top <= self._exact:
            return "", 1.0
        width = min(_BLOCK, self._exact // _BLOCKS)
        starts = [1 + block * (top - width) // (_BLOCKS - 1) for block in range(_BLOCKS)]
        blocks = " or ".join(f"{number} between {start} and {start + width - 1}" for start in starts)
        return f"where {blocks}", top / (width * _BLOCKS)

    async def _size(self, tx: Transaction, table: str) -> int:
        """About how many rows, without reading them."""
        if self._database.dialect == "sqlite":
            row = await tx.fetch_one(f"select max(rowid) as size from {table}")
        else:
            row = await tx.fetch_one(
                "select reltuples::bigint as size from pg_class where oid = cast(? as text)::regclass", table
            )
        return int(row["size"] or 0) if row else 0
