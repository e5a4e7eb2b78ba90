"""The completeness ledger: per user, per query, per stream, by id and per day what was captured and what is known to be missing.

Most of it is told when it is read, from counters, tasks, gaps and tombstones; what nobody could tell afterwards (a listing cut by
the service, an outage) is written down when it happens (`crawl/answers/short_lists.py`, `crawl/work/outages.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from bowerbird.ports import Database
from bowerbird.reports.completeness.accounts import user_entries
from bowerbird.reports.completeness.days import Days, PostSums, read_sums
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, Total
from bowerbird.reports.completeness.ids import id_entries
from bowerbird.reports.completeness.queries import query_entries
from bowerbird.reports.completeness.streams import stream_entries
from bowerbird.reports.completeness.world import Facets, Surroundings, read_surroundings

VIEWS = ("user", "query", "stream", "id", "day")
_BY_DAY = frozenset({"user", "query", "stream"})
"""The views whose lines tell what single days lack."""


async def ledger(database: Database, facets: Facets, by: str, crawl: str | None = None) -> AsyncIterator[Entry]:
    """The lines of one view, one of `VIEWS`, of one crawl or of all; reads only."""
    async for _, entry in ledgers(database, facets, (by,), crawl):
        yield entry


async def ledgers(
    database: Database, facets: Facets, views: Collection[str], crawl: str | None = None
) -> AsyncIterator[tuple[str, Entry]]:
    """The lines of several views, each with its view and worked out once: the days come last, from what the others said."""
    async with database.reading() as tx:
        around = await read_surroundings(tx, facets, crawl)
    days = Days(crawl) if "day" in views else None
    for view in VIEWS[:-1]:
        if view in views or (days is not None and view in _BY_DAY):
            async for entry in _lines(database, around, view):
                if days is not None and view in _BY_DAY:
                    days.add(entry)
                if view in views:
                    yield view, entry
    if days is not None:
        async with database.reading() as tx:
            entries = await days.entries(tx)
        for entry in entries:
            yield "day", entry


async def _lines(database: Database, around: Surroundings, view: str) -> AsyncIterator[Entry]:
    if view in ("user", "query"):
        async for entry in (user_entries if view == "user" else query_entries)(database, around):
            yield entry
        return
    async with database.reading() as tx:
        entries = await (stream_entries(tx, around.crawl) if view == "stream" else id_entries(tx, around))
    for entry in entries:
        yield entry


__all__ = ["VIEWS", "Cause", "Entry", "Facets", "Missing", "PostSums", "Total", "ledger", "ledgers", "read_sums"]
