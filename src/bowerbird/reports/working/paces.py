"""What each facet brings: items in all and per minute, now and over the life of a crawl.

Items are whatever was not stored before: accounts, posts, relations, reactions, tags (`Saved.items_new`), so that facets can be
compared; per minute they are what the literature calls the average crawling rate of a robot.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Row, Transaction

_MINUTE = 60_000_000
_ONE = timedelta(minutes=1)
_MOST = 5_000
"""So many calls are read one by one; of a longer log an even sample is."""
_SECONDS = 60
_STRETCHES = 32
_BLOCK = 60
_LATELY = f"""
select leased_at / {_MINUTE} as minute, facet, count(*) as calls, coalesce(sum(new_items), 0) as items,
    sum(case when outcome = 'ok' then 0 else 1 end) as bad, coalesce(sum(objects), 0) as objects
from (select * from calls order by call desc limit {_MOST}) as recent
where crawl = ? and state <> 'flying' and leased_at >= ? group by 1, 2
"""
_REACH = (
    f"select count(*) as calls, min(leased_at) as first from (select leased_at from calls order by call desc limit {_MOST}) x"
)
# Two questions in one: asked together, SQLite would read the whole log for them.
_ENDS = "select (select min(call) from calls) as low, (select max(call) from calls) as high"
_BLOCKS = """
select call, facet, crawl, leased_at, settled_at, new_items from calls where call >= ? and call < ? order by call
"""
_OPEN = "select facet, sent_at, new_items from calls where state = 'flying' and crawl = ? and results is not null"
"""Connections that are open: only theirs bring something before they end."""


class MinuteCount(Struct, frozen=True):
    """What one facet did in one minute."""

    minute: datetime
    facet: str
    calls: int
    items: int
    bad: int
    """Of the calls, those without a good answer."""
    objects: int
    """How many targets they asked about."""


class Minutes(Struct, frozen=True, kw_only=True):
    """What the facets of a crawl did of late, minute by minute."""

    counts: Sequence[MinuteCount]
    since: datetime
    """Everything from then on is counted."""
    is_cut: bool = False
    """More was asked for: there were more calls than are looked at."""


class Pace(Struct, frozen=True, kw_only=True):
    """What one facet brings."""

    facet: str
    calls: int
    """Over the crawl's life."""
    items: int
    is_exact: bool
    a_minute: float
    """Items per minute in the minutes that were asked for."""
    calls_a_minute: float
    objects_a_minute: float


class Course(Struct, frozen=True):
    """Items per minute over the life of a crawl: the middle of each stretch of time, and by facet the rate in it."""

    at: Sequence[datetime]
    rates: Mapping[str, Sequence[float]]
    sums: Mapping[str, tuple[int, int]]
    """By facet: calls and items in all."""
    is_exact: bool


class Heard(Struct, frozen=True):
    """What the open connections of a facet brought, and since when."""

    items: int
    since: datetime


async def read_open(tx: Transaction, crawl: int) -> dict[str, Heard]:
    """By facet: the connections that are open now."""
    found: dict[str, Heard] = {}
    for row in await tx.fetch(_OPEN, crawl):
        before, since = found.get(row["facet"]), from_micros(row["sent_at"])
        items = int(row["new_items"]) + (before.items if before else 0)
        found[row["facet"]] = Heard(items, min(since, before.since) if before else since)
    return found


async def read_minutes(tx: Transaction, crawl: int, since: datetime) -> Minutes:
    """By minute and facet, of the calls that ended since then, or since as many calls ago as are looked at."""
    rows, (reach,) = await tx.fetch_all([(_LATELY, (crawl, to_micros(since))), (_REACH, ())])
    found = [
        MinuteCount(
            from_micros(int(row["minute"]) * _MINUTE),
            row["facet"],
            *(int(row[name]) for name in ("calls", "items", "bad", "objects")),
        )
        for row in rows
    ]
    is_cut = int(reach["calls"]) >= _MOST
    return Minutes(
        counts=sorted(found, key=lambda each: (each.minute, each.facet)),
        since=max(since, from_micros(reach["first"])) if is_cut else since,
        is_cut=is_cut and from_micros(reach["first"]) > since,
    )


def paces(minutes: Minutes, course: Course, heard: Mapping[str, Heard], now: datetime) -> list[Pace]:
    """By facet, those that brought most first: over the whole life, and by the minute in these minutes."""
    span = now - max(minutes.since, min((each.minute for each in minutes.counts), default=now))
    length = max(span / _ONE, 1 / _SECONDS)
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in minutes.counts:
        sums[each.facet].update(calls=each.calls, items=each.items, objects=each.objects)
    found = [
        Pace(
            facet=facet,
            calls=whole[0],
            items=whole[1],
            is_exact=course.is_exact,
            a_minute=sums[facet]["items"] / length + _flowing(heard.get(facet), now),
            calls_a_minute=sums[facet]["calls"] / length,
            objects_a_minute=sums[facet]["objects"] / length,
        )
        for facet, whole in course.sums.items()
    ]
    return sorted(found, key=lambda pace: (-pace.items, -pace.calls, pace.facet))


def _flowing(heard: Heard | None, now: datetime) -> float:
    """What open connections bring in a minute, over the time that they are open."""
    return 0.0 if heard is None else heard.items / max((now - heard.since) / _ONE, 1 / _SECONDS)


async def read_course(tx: Transaction, crawl: int) -> Course:
    """The whole life of a crawl, from an even sample of the log where that is long: its cost does not grow."""
    row = await tx.fetch_one(_ENDS)
    if row is None or row["low"] is None:
        return Course((), {}, {}, is_exact=True)
    low, high = int(row["low"]), int(row["high"])
    if high - low < _MOST:
        return _counted(await tx.fetch(_BLOCKS, low, high + 1), crawl)
    starts = [low + (high - low) * place // _STRETCHES for place in range(_STRETCHES + 1)]
    blocks = await tx.fetch_all([(_BLOCKS, (start, start + _BLOCK)) for start in starts])
    return _estimated(starts, blocks, crawl)


def _counted(rows: Sequence[Row], crawl: int) -> Course:
    rows = [row for row in rows if row["crawl"] == crawl]
    if not rows:
        return Course((), {}, {}, is_exact=True)
    first, last = rows[0]["leased_at"], max(row["leased_at"] for row in rows)
    width = max(_MINUTE, -(-(last - first + 1) // _STRETCHES))
    stretches = (last - first) // width + 1
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * stretches)
    calls, items = Counter[str](), Counter[str]()
    for row in rows:
        new = row["new_items"] or 0
        for place, share in _shares(row["leased_at"] - first, (row["settled_at"] or last) - first, width, stretches):
            sums[row["facet"]][place] += new * share
        calls[row["facet"]] += 1
        items[row["facet"]] += new
    at = [from_micros(first + width * place + width // 2) for place in range(stretches)]
    rates = {facet: [each / (width / _MINUTE) for each in values] for facet, values in sums.items()}
    return Course(at, rates, {facet: (calls[facet], items[facet]) for facet in calls}, is_exact=True)


def _shares(begin: int, end: int, width: int, stretches: int) -> list[tuple[int, float]]:
    """The stretches that a call lasted over, each with its part of what it brought: connections are open for long."""
    first = min(stretches - 1, max(0, begin) // width)
    last = min(stretches - 1, max(begin, end, 0) // width)
    return [(place, 1 / (last - first + 1)) for place in range(first, last + 1)]


def _estimated(starts: Sequence[int], blocks: Sequence[Sequence[Row]], crawl: int) -> Course:
    """Between two blocks as many calls lie as their numbers say; what they brought is as in the block before them."""
    at: list[datetime] = []
    rates: defaultdict[str, list[float]] = defaultdict(list)
    calls, items = Counter[str](), Counter[str]()
    facets = sorted({row["facet"] for block in blocks for row in block if row["crawl"] == crawl})
    for (start, block), (after, following) in pairwise(zip(starts, blocks, strict=True)):
        if not block or not following:
            continue
        span = max(1, following[0]["leased_at"] - block[0]["leased_at"])
        scale = (after - start) / len(block)
        at.append(from_micros(block[0]["leased_at"] + span // 2))
        for facet in facets:
            own = [row["new_items"] or 0 for row in block if row["crawl"] == crawl and row["facet"] == facet]
            calls[facet] += round(len(own) * scale)
            items[facet] += round(sum(own) * scale)
            rates[facet].append(sum(own) * scale / (span / _MINUTE))
    return Course(at, rates, {facet: (calls[facet], items[facet]) for facet in facets}, is_exact=False)
