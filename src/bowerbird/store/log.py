"""The errors table, and what the query log says about our own work."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from statistics import median

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.ports import Row, Transaction
from bowerbird.store.clean import clean_text

LONGEST_MESSAGE = 2_000
_STEPS = ("rank_micros", "call_micros", "seed_micros", "settle_micros")
_ERROR = "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)"
_RECENT_CALLS = f"select {', '.join(_STEPS)} from calls where state = 'settled' order by call desc limit ?"


class Timings(Struct, frozen=True, kw_only=True):
    """Median microseconds of the steps of recent calls; None where none was measured."""

    calls: int
    rank_micros: float | None = None
    call_micros: float | None = None
    seed_micros: float | None = None
    settle_micros: float | None = None


async def record_error(
    tx: Transaction,
    now: datetime,
    part: str,
    message: str,
    *,
    crawl: int | None = None,
    call: int | None = None,
    outcome: str | None = None,
) -> None:
    """Keeps one error, its message bounded and fit for the database; the caller leaves secrets and private data out."""
    await tx.execute(_ERROR, to_micros(now), crawl, clean_text(part, 100), outcome, call, clean_text(message, LONGEST_MESSAGE))


async def read_timings(tx: Transaction, calls: int = 1_000) -> Timings:
    """Medians over the last so many settled calls."""
    rows = await tx.fetch(_RECENT_CALLS, calls)
    return Timings(calls=len(rows), **{step: _median(rows, step) for step in _STEPS})


def _median(rows: Sequence[Row], step: str) -> float | None:
    known = [row[step] for row in rows if row[step] is not None]
    return float(median(known)) if known else None
