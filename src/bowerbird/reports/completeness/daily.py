"""The ledger in sums: what a page shows of it, worked out once and kept. No line is about a single account."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.ports import Database
from bowerbird.reports.completeness import VIEWS, Cause, Entry, Total, read_views
from bowerbird.reports.completeness.facets import facet_of


class DayLine(Struct, frozen=True, kw_only=True):
    """Posts of one day: stored, and known to be missing by cause."""

    day: str
    captured: int
    deleted: int
    low: int
    likely: int
    high: int | None
    causes: dict[str, int]


class Sums(Struct, frozen=True, kw_only=True):
    """The whole ledger in sums."""

    days: list[DayLine]
    """In the order of time, `undated` last."""
    totals: dict[str, dict[str, Total]]
    """By view and kind of item."""


async def read_daily(database: Database, crawl: str | None) -> Sums:
    """Reads the ledger of one crawl, or of all; it takes as long as there are accounts, and lets others work meanwhile."""
    views = await read_views(database, facet_of, VIEWS, crawl)
    days = [_day(entry) for entry in views["day"].days]
    return Sums(days=days, totals={view: each.totals for view, each in views.items() if each.totals})


def _day(entry: Entry) -> DayLine:
    return DayLine(
        day=entry.subject,
        captured=entry.captured,
        deleted=entry.deleted,
        low=entry.low,
        likely=entry.likely,
        high=entry.high,
        causes={cause.value: entry.of(cause) for cause in Cause if entry.of(cause)},
    )
