"""How ready tasks become leased: chosen in lane order, each with a token of its own.

A task's token is the number of its lease. It grows with every lease of that task, and nobody else's changes it: the row that is
leased is the only one that is locked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bowerbird.frontier import statements as sql
from bowerbird.ports import Database, Row, Transaction

Leased = tuple[Row, int]
"""A task as it stood before its lease, and the token of the lease."""


class Leasing:
    """Leases tasks on either database: PostgreSQL chooses and leases them in one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._choose = {banded: sql.choose(database.dialect, banded=banded) for banded in (False, True)}
        self._choose_and_claim = {banded: sql.choose_and_claim(banded=banded) for banded in (False, True)}
        self._claim_chosen = sql.claim_chosen(database.any("bigint"))

    async def lease(self, tx: Transaction, where: Sequence[Any], until: int, worker: int) -> list[Leased]:
        """Leases the next tasks: `where` is the half of a lane, its band of priorities if there is one, and how many."""
        is_banded = len(where) > 3
        if self._database.dialect == "postgresql":
            rows = await tx.fetch(self._choose_and_claim[is_banded], *where, until, worker)
            # An update answers in any order.
            return [(row, row["fence"]) for row in sorted(rows, key=_lane_order)]
        rows = await tx.fetch(self._choose[is_banded], *where)
        if rows:
            await tx.execute(self._claim_chosen, until, worker, self._database.members([row["task"] for row in rows]))
        return [(row, row["fence"] + 1) for row in rows]


def _lane_order(row: Row) -> tuple[float, bool, int, int]:
    due: int | None = row["due"]
    return -row["priority"], due is None, due or 0, row["task"]
