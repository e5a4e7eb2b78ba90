"""How long things take, of late: each step of a call by facet, from get to put, and from the writing of a post to its storing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from math import ceil

from msgspec import Struct

from bowerbird.model import CallState
from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Database, Row, Transaction

_RECENT = 2_000
STEPS = {
    "rank": "choosing whom to ask",
    "call": "request to answer",
    "seed": "naming new targets",
    "settle": "writing it down",
    "get to put": "from lease to settle",
    "between": "from one call to the next",
}
"""What is measured of a call, in words."""
_CALLS = f"""
select facet, rank_micros, call_micros, seed_micros, settle_micros, settled_at - leased_at as whole_micros, leased_at
from calls where state = '{CallState.SETTLED}' and (cast(? as bigint) is null or crawl = ?) order by call desc limit ?
"""
_COLUMNS = {
    "rank": "rank_micros", "call": "call_micros", "seed": "seed_micros", "settle": "settle_micros", "get to put": "whole_micros",
}  # fmt: skip
# The service's own time stands for claims that cannot be.
_POSTS = """
select found_at - written as delay, case when written < coalesce(begun, found_at) then 1 else 0 end as is_old from (
    select p.found_at, case when p.is_time_doubtful = 1 then coalesce(p.listed_at, p.created_at) else p.created_at end as written,
        (select c.created_at from calls k join crawls c on c.crawl = k.crawl where k.call = p.found_by) as begun
    from (select * from posts order by post_no desc limit ?) as p where p.created_at is not null) as told
"""


_ASKED = 100
_TOP = "select max(user_no) as top from users"
_FIRST = f"""
select u.found_at, (select min(p.created_at) from posts p where p.author = u.user_no and p.created_at >= u.found_at) as first_at
from users u where u.user_no {{several}} and u.seen_at is not null and {may_be_told("u")}
"""


class Spread(Struct, frozen=True, kw_only=True):
    """How long something takes: of so many, the mean and what half, most and nearly all of them stay below."""

    count: int
    least: timedelta
    mean: timedelta
    median: timedelta
    p90: timedelta
    p95: timedelta
    p99: timedelta
    most: timedelta


class Spans(Struct, frozen=True, kw_only=True):
    """Timings of the last calls and posts."""

    steps: dict[str, Spread]
    """By step of a call, over all facets."""
    facets: dict[str, dict[str, Spread]]
    """By facet and step."""
    live: Spread | None
    """From when posts were written until they were stored, of those found last that were written since their crawl began."""
    backfill: Spread | None
    """The same of those that were older than their crawl: this tells their age, not how quick anything is."""


class FirstPosts(Struct, frozen=True, kw_only=True):
    """How long accounts that were added take to write their first post since, of an even sample of them."""

    spread: Spread | None
    asked: int
    silent: int
    """Of those, the ones of whom no such post is stored."""


async def read_first_posts(database: Database, tx: Transaction) -> FirstPosts:
    """Of at most a hundred accounts, evenly over all that are stored. It reads all their posts, as no index has
    the times: what it costs grows with what an account writes, and not with the number of accounts."""
    row = await tx.fetch_one(_TOP)
    top = int(row["top"] or 0) if row else 0
    chosen = sorted({1 + top * place // _ASKED for place in range(_ASKED)}) if top else []
    rows = await tx.fetch(_FIRST.format(several=database.any("bigint")), database.members(chosen)) if chosen else []
    delays = [row["first_at"] - row["found_at"] for row in rows if row["first_at"] is not None]
    return FirstPosts(spread=spread(delays), asked=len(rows), silent=len(rows) - len(delays))


async def read_spans(tx: Transaction, crawl: int | None = None, calls: int = _RECENT) -> Spans:
    """Over the last so many settled calls, of one crawl or of all, and as many posts."""
    rows = await tx.fetch(_CALLS, crawl, crawl, calls)
    by_facet: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_facet[row["facet"]].append(row)
    posts = await tx.fetch(_POSTS, calls)
    return Spans(
        steps=_steps(rows),
        facets={facet: _steps(each) for facet, each in sorted(by_facet.items())},
        live=spread(max(0, row["delay"]) for row in posts if not row["is_old"]),
        backfill=spread(max(0, row["delay"]) for row in posts if row["is_old"]),
    )


def _steps(rows: Sequence[Row]) -> dict[str, Spread]:
    found = {step: spread(row[column] for row in rows if row[column] is not None) for step, column in _COLUMNS.items()}
    leased = sorted(row["leased_at"] for row in rows)
    found["between"] = spread(after - before for before, after in pairwise(leased))
    return {step: each for step, each in found.items() if each is not None}


def spread(micros: Iterable[int]) -> Spread | None:
    """None of nothing."""
    known = sorted(micros)
    if not known:
        return None
    times = {name: _at(known, share) for name, share in (("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))}
    mean = timedelta(microseconds=sum(known) / len(known))
    return Spread(count=len(known), least=timedelta(microseconds=known[0]), mean=mean, most=_at(known, 1.0), **times)


def _at(known: Sequence[int], share: float) -> timedelta:
    """The value that this share of them does not exceed."""
    return timedelta(microseconds=known[max(0, ceil(share * len(known)) - 1)])
