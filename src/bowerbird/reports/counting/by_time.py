"""How much was collected when: by hour, day or month of our own time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.model import Subject
from bowerbird.ports import Database, Transaction
from bowerbird.reports.counting.counts import EXACT, Count

_TABLES = {Subject.USER: ("users", "user_no"), Subject.POST: ("posts", "post_no")}
_HOUR = timedelta(hours=1) // timedelta(microseconds=1)
_CALLS = f"""
select leased_at / {_HOUR} as hour, facet, count(*) as calls, coalesce(sum(results), 0) as results,
    coalesce(sum(new_items), 0) as new_items
from calls where call >= ? and call < ? and leased_at >= ? and leased_at < ? and (cast(? as bigint) is null or crawl = ?)
group by 1, 2
"""
_SLACK = timedelta(hours=1)
"""Calls of several workers are not numbered exactly in the order of time."""


class Unit(StrEnum):
    """How long each stretch of time is."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"

    def begin(self, when: datetime) -> datetime:
        """The beginning of the stretch in which a time lies."""
        midnight = when.replace(minute=0, second=0, microsecond=0) if self is Unit.HOUR else _midnight(when)
        return midnight.replace(day=1) if self is Unit.MONTH else midnight

    def next(self, begin: datetime) -> datetime:
        """The beginning of the stretch after the one that begins there."""
        if self is Unit.MONTH:
            return self.begin(begin + timedelta(days=32))
        return begin + (timedelta(hours=1) if self is Unit.HOUR else timedelta(days=1))


class FoundCount(Struct, frozen=True, kw_only=True):
    """How many users or posts were first stored in a stretch of time."""

    since: datetime
    count: Count


class CallCount(Struct, frozen=True, kw_only=True):
    """The calls of one facet that were begun in a stretch of time, and what they brought."""

    since: datetime
    facet: str
    calls: int
    results: int
    new_items: int


async def found_by_time(database: Database, what: Subject, unit: Unit, since: datetime, until: datetime) -> list[FoundCount]:
    """How many users or posts were found in each stretch from one time to another, also where none was.

    Rows are numbered in the order in which they are found. Where a stretch begins is looked up by halving, so the cost does not
    grow with the table; a stretch of very many rows is told by the numbers alone, and says that it is not exact.
    """
    table, number = _TABLES[what]
    edges = [*_stretches(unit, since, until), until]
    async with database.reading() as tx:
        search = FirstAt(tx, table, number, "found_at")
        numbers = [await search.first_at(edge) for edge in edges]
        counts = [await _between(tx, table, number, first, end) for first, end in pairwise(numbers)]
    return [FoundCount(since=edge, count=count) for edge, count in zip(edges, counts, strict=False)]


async def calls_by_time(
    database: Database, unit: Unit, since: datetime, until: datetime, crawl: int | None = None
) -> list[CallCount]:
    """Calls by stretch and facet, of one crawl or of all; what a live connection brings counts when it was begun."""
    async with database.reading() as tx:
        search = FirstAt(tx, "calls", "call", "leased_at")
        numbers = [await search.first_at(since - _SLACK), await search.first_at(until + _SLACK)]
        rows = await tx.fetch(_CALLS, *numbers, to_micros(since), to_micros(until), crawl, crawl)
    sums: defaultdict[tuple[datetime, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        key = unit.begin(from_micros(int(row["hour"]) * _HOUR)), str(row["facet"])
        sums[key] = [had + int(row[name]) for had, name in zip(sums[key], ("calls", "results", "new_items"), strict=True)]
    return [
        CallCount(since=at, facet=facet, calls=calls, results=results, new_items=new)
        for (at, facet), (calls, results, new) in sorted(sums.items())
    ]


class FirstAt(Struct, frozen=True):
    """Finds by halving the first row of a table, numbered in the order of time, that is not before a time."""

    tx: Transaction
    table: str
    number: str
    time: str

    async def first_at(self, when: datetime) -> int:
        at = to_micros(when)
        row = await self.tx.fetch_one(f"select max({self.number}) as top from {self.table}")
        low, high = 1, int(row["top"] or 0) + 1 if row else 1
        while low < high:
            middle = (low + high) // 2
            found = await self._from(middle)
            # Numbers have gaps: what stands for the middle is the next row there is.
            if found is None or found[1] >= at:
                high = middle
            else:
                low = found[0] + 1
        return low

    async def _from(self, number: int) -> tuple[int, int] | None:
        row = await self.tx.fetch_one(
            f"select {self.number} as number, {self.time} as at from {self.table} where {self.number} >= ? "
            f"order by {self.number} limit 1",
            number,
        )
        return None if row is None else (int(row["number"]), int(row["at"]))


async def _between(tx: Transaction, table: str, number: str, first: int, end: int) -> Count:
    if end - first > EXACT:
        return Count(end - first, is_exact=False)
    row = await tx.fetch_one(f"select count(*) as n from {table} where {number} >= ? and {number} < ?", first, end)
    return Count(int(row["n"]) if row else 0)


def _stretches(unit: Unit, since: datetime, until: datetime) -> Iterator[datetime]:
    """The first begins where it is asked, the others where hours, days and months do."""
    begin = since
    while begin < until:
        yield begin
        begin = unit.next(unit.begin(begin))


def _midnight(when: datetime) -> datetime:
    return when.replace(hour=0, minute=0, second=0, microsecond=0)
