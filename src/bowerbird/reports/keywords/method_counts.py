"""Counts of each method of all event crawls, for `status` and the live display."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bowerbird.ports import Row, Transaction
from bowerbird.reports.keywords.silence import read_silence

_METHODS = """
select m.method, m.crawl, m.name, m.bit, c.name as crawl_name,
    (select count(*) from keywords k where k.method = m.method and k.until is null) as keywords
from keyword_methods m join crawls c on c.crawl = m.crawl
where m.until is null order by m.crawl, m.bit
"""
_LATEST = "select max(ends) as ends from keyword_frames where crawl = ? and decided_at is not null"
_MOVED = """
select coalesce(sum(case when since > ? then 1 else 0 end), 0) as entered,
    coalesce(sum(case when until > ? then 1 else 0 end), 0) as gone
from keywords where method = ?
"""
_NEWEST = "select term from keywords where method = ? and until is null order by since desc, keyword desc limit 3"
_MASKS = "select methods, count(*) as posts from keyword_posts where crawl = ? group by methods"
_HOUR = 3_600_000_000


class MethodCounts(Struct, frozen=True, kw_only=True):
    """One method of one crawl."""

    crawl: str
    method: str
    keywords: int
    posts: int
    entered: int
    """In the hour before the last decision."""
    left: int
    newest: tuple[str, ...]
    silence: str = ""
    """The warning if the last frames had no posts."""


async def read_method_counts(tx: Transaction) -> list[MethodCounts]:
    found = []
    masks: dict[int, Sequence[Row]] = {}
    for row in await tx.fetch(_METHODS):
        if row["crawl"] not in masks:
            masks[row["crawl"]] = await tx.fetch(_MASKS, row["crawl"])
        latest = await tx.fetch_one(_LATEST, row["crawl"])
        since = (latest["ends"] if latest is not None and latest["ends"] else 0) - _HOUR
        (moved,) = await tx.fetch(_MOVED, since, since, row["method"])
        found.append(
            MethodCounts(
                crawl=row["crawl_name"],
                method=row["name"],
                keywords=row["keywords"],
                posts=sum(each["posts"] for each in masks[row["crawl"]] if each["methods"] >> row["bit"] & 1),
                entered=moved["entered"],
                left=moved["gone"],
                newest=tuple(each["term"] for each in await tx.fetch(_NEWEST, row["method"])),
                silence=await read_silence(tx, row["crawl"]),
            )
        )
    return found
