"""The completeness ledger: per user, per query, per stream, by id and per day what was captured and what is known to be missing.

Most of it is told when it is read, from counters, tasks, gaps and tombstones; what nobody could tell afterwards (a listing cut by
the service, an outage) is written down when it happens (`crawl/answers/short_lists.py`, `crawl/work/outages.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from bowerbird.ports import Database
from bowerbird.reports.completeness.accounts import user_entries
from bowerbird.reports.completeness.days import Days, PostSums, read_sums
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, Total
from bowerbird.reports.completeness.ids import id_entries
from bowerbird.reports.completeness.queries import query_entries
from bowerbird.reports.completeness.streams import stream_entries
from bowerbird.reports.completeness.world import Facets, read_surroundings

VIEWS = ("user", "query", "stream", "id", "day")


async def ledger(database: Database, facets: Facets, by: str, crawl: str | None = None) -> AsyncIterator[Entry]:
    """The lines of one view, one of `VIEWS`, of one crawl or of all; reads only."""
    async with database.reading() as tx:
        around = await read_surroundings(tx, facets, crawl)
    if by == "user":
        async for entry in user_entries(database, around):
            yield entry
    elif by == "query":
        async for entry in query_entries(database, around):
            yield entry
    elif by == "stream":
        async with database.reading() as tx:
            entries = await stream_entries(tx, crawl)
        for entry in entries:
            yield entry
    elif by == "id":
        async with database.reading() as tx:
            entries = await id_entries(tx, around)
        for entry in entries:
            yield entry
    else:
        async for entry in _days(database, facets, crawl):
            yield entry


async def _days(database: Database, facets: Facets, crawl: str | None) -> AsyncIterator[Entry]:
    days = Days(crawl)
    for by in VIEWS[:3]:
        async for entry in ledger(database, facets, by, crawl):
            days.add(entry)
    async with database.reading() as tx:
        entries = await days.entries(tx)
    for entry in entries:
        yield entry


__all__ = ["VIEWS", "Cause", "Entry", "Facets", "Missing", "PostSums", "Total", "ledger", "read_sums"]
