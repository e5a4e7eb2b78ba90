"""How targets come into the frontier, and how known ones are woken, whoever else does the same at that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bowerbird.frontier import statements as sql
from bowerbird.frontier.statements import Manner
from bowerbird.ports import Database, Transaction

Rows = Sequence[tuple[object, ...]]
_LANE, _TARGET = 0, 1


class Additions:
    """Writes arrivals on either database. On PostgreSQL those who wake tasks do so one at a time: each of two workers may wake
    the task that the other is settling."""

    def __init__(self, database: Database) -> None:
        self._is_shared = database.dialect == "postgresql"

    async def take_turn(self, tx: Transaction) -> None:
        """Makes all others who take turns wait until the transaction ends."""
        if self._is_shared:
            await tx.execute(sql.TAKE_TURN)

    async def write(self, tx: Transaction, rows: Mapping[Manner, Rows]) -> None:
        if not self._is_shared:
            for manner, values in rows.items():
                await tx.execute_many(sql.adding(manner), values)
            return
        if rows.keys() - {sql.NEW_ONLY}:
            await self.take_turn(tx)
        for manner in sorted(rows):
            for once in _each_once(rows[manner]):
                await tx.execute(sql.adding_in_order(manner), *(list(column) for column in zip(*once, strict=True)))


def _each_once(rows: Rows) -> list[list[tuple[object, ...]]]:
    """The rows in as many parts as it takes for no part to name a target twice: one statement may not change a row twice."""
    parts: list[dict[object, tuple[object, ...]]] = []
    for row in rows:
        name = row[_LANE], row[_TARGET]
        part = next((part for part in parts if name not in part), None)
        if part is None:
            parts.append(part := {})
        part[name] = row
    return [list(part.values()) for part in parts]
