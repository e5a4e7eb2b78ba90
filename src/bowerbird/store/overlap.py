"""What searches and streams each brought of the same conversation: found by one alone, by the other alone, or by both."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from msgspec import Struct

from bowerbird.clock import EPOCH, from_micros
from bowerbird.ports import Row, Transaction

_DAY = timedelta(days=1) // timedelta(microseconds=1)
_IS_STREAM = "l.facet like 'stream %'"
_WRITTEN = "case when p.is_time_doubtful = 1 or p.created_at is null then coalesce(p.listed_at, p.found_at) else p.created_at end"
_BY_DAY = f"""
select seen.day, sum(is_earlier) as earlier, sum(case when streamed = 0 then 1 - is_earlier else 0 end) as search_only,
    sum(case when searched = 0 then 1 - is_earlier else 0 end) as stream_only,
    sum(searched * streamed * (1 - is_earlier)) as in_both,
    sum(case when searched = 0 then is_repost * (1 - is_earlier) else 0 end) as stream_only_reposts,
    sum(case when searched = 0 then is_gone * (1 - is_earlier) else 0 end) as stream_only_gone,
    sum(case when streamed = 0 then is_gone * (1 - is_earlier) else 0 end) as search_only_gone
from (
    select {_WRITTEN} / {_DAY} as day, case when {_WRITTEN} < ? then 1 else 0 end as is_earlier,
        case when p.kind = 'repost' then 1 else 0 end as is_repost, case when p.deleted_at is null then 0 else 1 end as is_gone,
        max(case when {_IS_STREAM} then 0 else 1 end) as searched, max(case when {_IS_STREAM} then 1 else 0 end) as streamed
    from sightings g join lanes l on l.lane = g.lane join crawls c on c.crawl = l.crawl join posts p on p.post_no = g.post_no
    where c.name = ? group by p.post_no
) as seen group by seen.day order by seen.day
"""
_BEGAN = f"""
select {_IS_STREAM} as is_stream, min(k.leased_at) as at from calls k join lanes l on l.lane = k.lane
    join crawls c on c.crawl = l.crawl
where c.name = ? and l.lane in (select lane from sightings) group by {_IS_STREAM}
"""
_SOURCES = f"""
select s.name as service, l.facet, case when {_IS_STREAM} then 1 else 0 end as is_stream, count(*) as posts,
    sum(case when f.lane = g.lane then 1 else 0 end) as found_first, min(g.at) as since, max(g.at) as until
from sightings g join lanes l on l.lane = g.lane join crawls c on c.crawl = l.crawl join services s on s.service = l.service
    join posts p on p.post_no = g.post_no left join calls f on f.call = p.found_by
where c.name = ? group by s.name, l.facet order by s.name, l.facet
"""


class Source(Struct, frozen=True, kw_only=True):
    """One search facet or stream, and how many posts it listed."""

    service: str
    name: str
    is_stream: bool
    posts: int
    found_first: int
    """Posts that were not in the store before it listed them."""
    since: datetime
    until: datetime


class Shared(Struct, frozen=True, kw_only=True):
    """Posts by who listed them; the posts of one day, by the network's time, or of all."""

    day: date | None = None
    search_only: int = 0
    stream_only: int = 0
    both: int = 0
    stream_only_reposts: int = 0
    """Among them: reposts, which many searches leave out."""
    stream_only_gone: int = 0
    """Among them: deleted since; a search that came later could not find them."""
    search_only_gone: int = 0
    earlier: int = 0
    """Written before both kinds of sources ran, and in none of the other counts."""


class Overlap(Struct, frozen=True, kw_only=True):
    """What search alone would have missed, and what streams alone would have."""

    crawl: str
    sources: tuple[Source, ...]
    total: Shared
    days: tuple[Shared, ...]
    both_since: datetime | None
    """From when on both kinds of sources ran; what was written before cannot be compared."""


async def read_overlap(tx: Transaction, crawl: str) -> Overlap:
    """Reads every sighting of the crawl once."""
    sources = tuple(_source(row) for row in await tx.fetch(_SOURCES, crawl))
    began = [row["at"] for row in await tx.fetch(_BEGAN, crawl)]
    both_since = max(began) if len(began) == 2 else None
    days = tuple(_day(row) for row in await tx.fetch(_BY_DAY, both_since or 0, crawl))
    since = None if both_since is None else from_micros(both_since)
    return Overlap(crawl=crawl, sources=sources, total=_total(days), days=days, both_since=since)


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
