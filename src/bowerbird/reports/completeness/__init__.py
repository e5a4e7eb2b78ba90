"""The completeness ledger: per user, per query, per stream, by id and per day what was captured and what is known to be missing.

Most of it is told when it is read, from counters, tasks, gaps and tombstones; what nobody could tell afterwards (a listing cut by
the service, an outage) is written down when it happens (`crawl/answers/short_lists.py`, `crawl/work/servers/outages.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection

from bowerbird.ports import Database
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, Total
from bowerbird.reports.completeness.lines.accounts import user_entries
from bowerbird.reports.completeness.lines.days import Days, PostSums, read_sums
from bowerbird.reports.completeness.lines.ids import id_entries
from bowerbird.reports.completeness.lines.queries import query_entries
from bowerbird.reports.completeness.lines.streams import stream_entries
from bowerbird.reports.completeness.user_sums import UserSums
from bowerbird.reports.completeness.views import ViewSums
from bowerbird.reports.completeness.world import Facets, Surroundings, read_surroundings

VIEWS = ("user", "query", "stream", "id", "day")
_BY_DAY = frozenset({"user", "query", "stream"})
"""The views whose lines tell what single days lack."""
_FEW = 25
"""Lines after which others may work."""


async def completeness_lines(database: Database, facets: Facets, by: str, crawl: str | None = None) -> AsyncIterator[Entry]:
    """The lines of one view, one of `VIEWS`, of one crawl or of all; reads only."""
    async for _, entry in lines_by_view(database, facets, (by,), crawl):
        yield entry


async def lines_by_view(
    database: Database, facets: Facets, views: Collection[str], crawl: str | None = None
) -> AsyncIterator[tuple[str, Entry]]:
    """The lines of several views, each with its view and worked out once: the days come last, from what the others said."""
    async with database.reading() as tx:
        around = await read_surroundings(tx, facets, crawl)
    days = Days(crawl) if "day" in views else None
    for view in VIEWS[:-1]:
        if view in views:
            async for entry in _lines(database, around, view):
                if days is not None and view in _BY_DAY:
                    days.add(entry)
                yield view, entry
        elif days is not None and view in _BY_DAY:
            async for entry, times in _counted(database, around, view, None):
                days.add(entry, times or 1)
    if days is not None:
        async with database.reading() as tx:
            entries = await days.entries(tx)
        for entry in entries:
            yield "day", entry


async def read_views(
    database: Database, facets: Facets, views: Collection[str], crawl: str | None = None, top: int = 0
) -> dict[str, ViewSums]:
    """The sums of several views, and of each the `top` lines that matter most; the same as those of all its lines (`ledgers`), in
    far less time where there are many accounts. Others may work meanwhile."""
    async with database.reading() as tx:
        around = await read_surroundings(tx, facets, crawl)
    found, days = {view: ViewSums(view, top) for view in views}, Days(crawl)
    for view in VIEWS[:-1]:
        is_of_days = "day" in views and view in _BY_DAY
        if view not in views and not is_of_days:
            continue
        sums, number = found.get(view, ViewSums(view, 0)), 0
        async for entry, times in _counted(database, around, view, sums):
            if is_of_days:
                days.add(entry, times or 1)
            sums.add(entry) if times is None else sums.add_alike(entry, times)
            number += 1
            if number % _FEW == 0:
                await asyncio.sleep(0)
    if "day" in views:
        async with database.reading() as tx:
            for entry in await days.entries(tx):
                found["day"].add(entry)
    return found


async def _counted(
    database: Database, around: Surroundings, view: str, shown: ViewSums | None
) -> AsyncIterator[tuple[Entry, int | None]]:
    """Lines, and lines that stand for so many of which none is `shown`."""
    if view == "user":
        async for found in UserSums(database, around, shown).entries():
            yield found
        return
    async for entry in _lines(database, around, view):
        yield entry, None


async def _lines(database: Database, around: Surroundings, view: str) -> AsyncIterator[Entry]:
    if view in ("user", "query"):
        async for entry in (user_entries if view == "user" else query_entries)(database, around):
            yield entry
        return
    async with database.reading() as tx:
        entries = await (stream_entries(tx, around.crawl) if view == "stream" else id_entries(tx, around))
    for entry in entries:
        yield entry


__all__ = [
    "VIEWS",
    "Cause",
    "Entry",
    "Facets",
    "Missing",
    "PostSums",
    "Total",
    "ViewSums",
    "completeness_lines",
    "lines_by_view",
    "read_sums",
    "read_views",
]
