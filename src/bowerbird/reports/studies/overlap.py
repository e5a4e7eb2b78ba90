"""Compare the posts from searches and streams: found by one kind only, or by both."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from msgspec import Struct

from bowerbird.clock import EPOCH, from_micros
from bowerbird.ports import Row, Transaction

_DAY = timedelta(days=1) // timedelta(microseconds=1)
_FOREVER = 2**63 - 1
_IS_STREAM = "l.facet like 'stream %'"
_WRITTEN = "case when p.is_time_doubtful = 1 or p.created_at is null then coalesce(p.listed_at, p.found_at) else p.created_at end"
_LISTED = f"""
select {_WRITTEN} / {_DAY} as day, case when {_WRITTEN} < ? then -1 when {_WRITTEN} > ? then 1 else 0 end as side,
    case when p.kind = 'repost' then 1 else 0 end as is_repost, case when p.deleted_at is null then 0 else 1 end as is_gone,
    max(case when {_IS_STREAM} then 0 else 1 end) as searched, max(case when {_IS_STREAM} then 1 else 0 end) as streamed
from sightings g join lanes l on l.lane = g.lane join crawls c on c.crawl = l.crawl join posts p on p.post_no = g.post_no
where c.name = ? group by p.post_no
"""
_COUNTED = {
    "earlier": "side < 0",
    "later": "side > 0",
    "search_only": "side = 0 and streamed = 0",
    "search_only_gone": "side = 0 and streamed = 0 and is_gone = 1",
    "stream_only": "side = 0 and searched = 0",
    "stream_only_gone": "side = 0 and searched = 0 and is_gone = 1",
    "stream_only_reposts": "side = 0 and searched = 0 and is_repost = 1",
    "in_both": "side = 0 and searched = 1 and streamed = 1",
}
_COUNTS = ", ".join(f"sum(case when {condition} then 1 else 0 end) as {name}" for name, condition in _COUNTED.items())
_BY_DAY = f"select seen.day, {_COUNTS} from ({_LISTED}) as seen group by seen.day order by seen.day"
_CALLED = f"""
select {_IS_STREAM} as is_stream, min(k.leased_at) as since, max(case when k.outcome = 'ok' then k.leased_at end) as until
from calls k join lanes l on l.lane = k.lane join crawls c on c.crawl = l.crawl
where c.name = ? and l.lane in (select lane from sightings) group by {_IS_STREAM}
"""
# The call of a stream is a connection, which may have lasted for weeks.
_HEARD = "select max(s.heard_at) as until from streams s join crawls c on c.crawl = s.crawl where c.name = ?"
_SOURCES = f"""
select s.name as service, l.facet, case when {_IS_STREAM} then 1 else 0 end as is_stream, count(*) as posts,
    sum(case when f.lane = g.lane then 1 else 0 end) as found_first, min(g.at) as since, max(g.at) as until
from sightings g join lanes l on l.lane = g.lane join crawls c on c.crawl = l.crawl join services s on s.service = l.service
    join posts p on p.post_no = g.post_no left join calls f on f.call = p.found_by
where c.name = ? group by s.name, l.facet order by s.name, l.facet
"""


class Source(Struct, frozen=True, kw_only=True):
    """A search facet or stream, with the number of its posts."""

    service: str
    name: str
    is_stream: bool
    posts: int
    found_first: int
    """Posts that it listed first."""
    since: datetime
    until: datetime


class Shared(Struct, frozen=True, kw_only=True):
    """Posts by kind of source, of one day (by the network's time) or in total."""

    day: date | None = None
    search_only: int = 0
    stream_only: int = 0
    both: int = 0
    stream_only_reposts: int = 0
    """Reposts among them, which many searches omit."""
    stream_only_gone: int = 0
    """Later deleted posts among them, which a later search could not find."""
    search_only_gone: int = 0
    earlier: int = 0
    """Posts from before both kinds of sources ran; not in the other counts."""
    later: int = 0
    """Posts from after the last search or stream message; not in the other counts."""


class Overlap(Struct, frozen=True, kw_only=True):
    """The posts that search alone, or streams alone, would have missed."""

    crawl: str
    sources: tuple[Source, ...]
    total: Shared
    days: tuple[Shared, ...]
    both_since: datetime | None
    """The time since both kinds of sources ran; earlier posts cannot be compared."""
    both_until: datetime | None
    """The time until which both kinds of sources have responded."""


async def read_overlap(tx: Transaction, crawl: str) -> Overlap:
    """Return the overlap, reading every sighting of the crawl once."""
    sources = tuple(_source(row) for row in await tx.fetch(_SOURCES, crawl))
    since, until = await _compared(tx, crawl)
    bounds = (0 if since is None else since, _FOREVER if until is None else until)
    days = tuple(_day(row) for row in await tx.fetch(_BY_DAY, *bounds, crawl))
    return Overlap(crawl=crawl, sources=sources, total=_total(days), days=days, both_since=_time(since), both_until=_time(until))


async def _compared(tx: Transaction, crawl: str) -> tuple[int | None, int | None]:
    """Return the time in which both kinds of sources ran, or nothing if only one did."""
    called = {bool(row["is_stream"]): row for row in await tx.fetch(_CALLED, crawl)}
    if len(called) < 2:
        return None, None
    (heard,) = await tx.fetch(_HEARD, crawl)
    ends = [end for end in (called[False]["until"], heard["until"]) if end is not None]
    return max(row["since"] for row in called.values()), min(ends, default=None)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _source(row: Row) -> Source:
    return Source(
        service=row["service"],
        name=row["facet"].removeprefix("stream "),
        is_stream=bool(row["is_stream"]),
        posts=row["posts"],
        found_first=int(row["found_first"]),
        since=from_micros(row["since"]),
        until=from_micros(row["until"]),
    )


def _day(row: Row) -> Shared:
    counts = {name: int(row[name]) for name in Shared.__struct_fields__ if name not in ("day", "both")}
    return Shared(day=(EPOCH + timedelta(days=row["day"])).date(), both=int(row["in_both"]), **counts)


def _total(days: tuple[Shared, ...]) -> Shared:
    counts = {name: sum(getattr(day, name) for day in days) for name in Shared.__struct_fields__ if name != "day"}
    return Shared(**counts)
