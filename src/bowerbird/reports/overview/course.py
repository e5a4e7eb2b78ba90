"""What came in over time, as the plot of the first page shows it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.db.moment import one_moment
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.reports.working.paces import read_course, read_minutes

HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)


class Incoming(Struct, frozen=True):
    """New items per minute, by facet (of one crawl) or by crawl (of several)."""

    at: Sequence[datetime]
    rates: Mapping[str, Sequence[float]]
    is_lately: bool
    """The last hour; otherwise the whole life of what ended before."""
    is_cut: bool = False
    """Less than the hour: there were more calls than are looked at."""


async def read_incoming(database: Database, now: datetime) -> Incoming:
    """The last hour by the minute where anything came in; otherwise the whole life of the newest crawl."""
    counts: defaultdict[str, Counter[datetime]] = defaultdict(Counter)
    since, is_cut = now - HOUR, False
    async with one_moment(database) as still, still.reading() as tx:
        crawls = await Reader(still).crawls()
        for crawl in crawls:
            minutes = await read_minutes(tx, crawl.crawl, now - HOUR)
            since, is_cut = minutes.since, minutes.is_cut
            for each in minutes.counts:
                counts[crawl.name if len(crawls) > 1 else each.facet][each.minute] += each.items
        if counts:
            # Where there were more calls than are looked at, the first minute is counted in part, and left out unless it is all.
            cut = min(since.replace(second=0, microsecond=0) + _MINUTE, now) if is_cut else since
            begun = max(min(min(found) for found in counts.values()), cut).replace(second=0, microsecond=0)
            # The minute that is not over would look like a fall; of the first one something is shown all the same.
            at = [begun + number * _MINUTE for number in range(max(1, (now - begun) // _MINUTE))]
            rates = {name: [found[minute] for minute in at] for name, found in sorted(counts.items()) if any(found.values())}
            return Incoming(at, rates, is_lately=True, is_cut=is_cut)
        if not crawls:
            return Incoming((), {}, is_lately=True)
        course = await read_course(tx, max(crawls, key=lambda crawl: crawl.updated_at).crawl)
    return Incoming(course.at, {name: rates for name, rates in course.rates.items() if any(rates)}, is_lately=False)
