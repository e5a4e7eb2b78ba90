"""How a store grew: accounts and posts that it held at the end of each stretch of time."""

from __future__ import annotations

from datetime import datetime
from itertools import accumulate

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import Subject
from bowerbird.ports import Clock, Database
from bowerbird.reports.counting.by_time import Unit, found_by_time

_SINCE = "select min(created_at) as since from crawls"


class Grown(Struct, frozen=True, kw_only=True):
    """How much was stored at a time."""

    at: datetime
    users: int
    posts: int


async def read_growth(database: Database, unit: Unit, clock: Clock) -> list[Grown]:
    """From the beginning of the first crawl, when there was nothing, until now: at the end of each stretch of time."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_SINCE)
    if row is None or row["since"] is None:
        return []
    begin, now = from_micros(int(row["since"])), clock.now()
    users = await found_by_time(database, Subject.USER, unit, begin, now)
    posts = await found_by_time(database, Subject.POST, unit, begin, now)
    ends = [*(each.since for each in users[1:]), now]
    sums = (accumulate(each.count.value for each in found) for found in (users, posts))
    grown = [Grown(at=at, users=held, posts=kept) for at, held, kept in zip(ends, *sums, strict=True)]
    return [Grown(at=begin, users=0, posts=0), *grown]
