"""What is kept as counts of posts, held against a recount of the posts themselves."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.ports import Database, Row

_DAY = 86_400_000_000
_KEPT_DAYS = """
select day, crawl, sum(stored) as stored, sum(deleted) as deleted from post_days group by day, crawl
having sum(stored) <> 0 or sum(deleted) <> 0
"""
_POSTS = """
select p.author, p.kind, p.created_at, p.listed_at, p.is_time_doubtful, p.found_at, p.seen_at, p.deleted_at, c.crawl
from posts p left join calls c on c.call = p.found_by
"""


async def counted_accounts(database: Database) -> dict[int, Row]:
    """The accounts that have kept counts; fails where these, or those of days, differ from a recount."""
    async with database.reading() as tx:
        posts, days = await tx.fetch(_POSTS), await tx.fetch(_KEPT_DAYS)
        accounts = {row["user_no"]: row for row in await tx.fetch("select * from post_counts")}
    assert {(row["day"], row["crawl"]): (row["stored"], row["deleted"]) for row in days} == _by_day(
        posts
    )
    own: dict[int, list[Row]] = {}
    for row in posts:
        own.setdefault(row["author"], []).append(row)
    for number, account in accounts.items():
        _check(account, own.get(number, []))
    return accounts


def _by_day(posts: Sequence[Row]) -> dict[tuple[int, int], tuple[int, int]]:
    days: dict[tuple[int, int], tuple[int, int]] = {}
    for row in posts:
        key = (_day_of(row), row["crawl"] or 0)
        stored, deleted = days.get(key, (0, 0))
        days[key] = stored + 1, deleted + (row["deleted_at"] is not None)
    return days


def _day_of(row: Row) -> int:
    if row["created_at"] is None:
        return -(2**31)
    written = (
        row["listed_at"]
        if row["is_time_doubtful"] and row["listed_at"] is not None
        else row["created_at"]
    )
    return int(written / _DAY)


def _check(account: Row, own: Sequence[Row]) -> None:
    living = [row for row in own if row["deleted_at"] is None]
    assert account["stored"] == len(own)
    assert account["deleted"] == len(own) - len(living)
    assert account["reposts"] == sum(row["kind"] == "repost" for row in living)
    assert account["first_found"] <= min(row["found_at"] for row in own)
    assert account["last_seen"] >= max(row["seen_at"] for row in own)
    times = [at for row in own for at in (row["created_at"], row["listed_at"]) if at is not None]
    assert account["last_written"] >= max(times, default=0)
