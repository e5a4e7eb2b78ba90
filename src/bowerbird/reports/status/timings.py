"""How long our own work takes, as the log of calls tells it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bowerbird.model import CallState
from bowerbird.ports import Row, Transaction

_STEPS = ("rank_micros", "call_micros", "seed_micros", "settle_micros")
_RECENT_CALLS = f"select {', '.join(_STEPS)} from calls where state = '{CallState.SETTLED}' order by call desc limit ?"


class Timings(Struct, frozen=True, kw_only=True):
    """Median microseconds of the steps of recent calls; None where none was measured."""

    calls: int
    rank_micros: float | None = None
    call_micros: float | None = None
    seed_micros: float | None = None
    settle_micros: float | None = None


async def read_timings(tx: Transaction, calls: int = 1_000) -> Timings:
    """Medians over the last so many settled calls."""
    rows = await tx.fetch(_RECENT_CALLS, calls)
    return Timings(calls=len(rows), **{step: _median(rows, step) for step in _STEPS})


def _median(rows: Sequence[Row], step: str) -> float | None:
    known = sorted(row[step] for row in rows if row[step] is not None)
    middle = known[(len(known) - 1) // 2 : len(known) // 2 + 1]
    return sum(middle) / len(middle) if middle else None
