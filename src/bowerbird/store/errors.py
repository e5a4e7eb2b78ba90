"""The errors table: what went wrong, bounded and without secrets."""

from __future__ import annotations

from datetime import datetime

from bowerbird.clock import to_micros
from bowerbird.ports import Transaction
from bowerbird.store.intake.clean import clean_text

LONGEST_MESSAGE = 2_000
_ERROR = "insert into errors (at, crawl, part, outcome, call, message) values (?, ?, ?, ?, ?, ?)"


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
