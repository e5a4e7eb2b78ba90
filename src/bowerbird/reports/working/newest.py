"""The newest rows of a log that fit, page by page. A page looks at a stretch of numbers at most, however long the log is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bowerbird.ports import Row, Transaction


class Log(Struct, frozen=True, kw_only=True):
    """How one is read: `rows` with `{which}` for conditions, below a number, from a number on, and how many at most."""

    number: str
    top: str
    rows: str
    looked_at: int


class Newest(Struct, frozen=True):
    """Some rows, newest first."""

    rows: Sequence[Row]
    before: int | None
    """The next page has rows before this one; None: there is none."""
    is_cut: bool
    """Older ones were not looked at."""


class Wanted(Struct, frozen=True, kw_only=True):
    """Which page: `which` are conditions, `values` theirs."""

    which: str
    values: Sequence[object]
    before: int | None
    most: int


async def read_newest(tx: Transaction, log: Log, wanted: Wanted) -> Newest:
    """One page of a log."""
    row = await tx.fetch_one(log.top)
    below = min(wanted.before or 2**62, int(row["top"] or 0) + 1 if row else 1)
    lowest = max(1, below - log.looked_at)
    rows = await tx.fetch(log.rows.format(which=wanted.which), below, lowest, *wanted.values, wanted.most + 1)
    shown = rows[: wanted.most]
    if len(rows) > wanted.most:
        return Newest(shown, int(shown[-1][log.number]), is_cut=False)
    return Newest(shown, lowest if lowest > 1 else None, is_cut=lowest > 1)
