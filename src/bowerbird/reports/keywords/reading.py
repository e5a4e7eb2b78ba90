"""The keywords of a crawl: volume, claimed precision, since when and why; what each method collected; candidates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.keywords.values import Estimate, State
from bowerbird.ports import Row, Transaction
from bowerbird.reports.keywords.figures import Thresholds

_CRAWLS = """
select c.crawl, c.name from crawls c where exists (select 1 from keyword_methods m where m.crawl = c.crawl) order by c.crawl
"""
_METHODS = "select method, name, bit, state, since, until from keyword_methods where crawl = ? order by bit"
_KEYWORDS = """
select k.*, m.name from keywords k join keyword_methods m on m.method = k.method where k.crawl = ? {which}
order by k.since, k.keyword
"""
_LAST = """
select c.method, c.term, c.counts from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.frame = (select max(frame) from keyword_frames where crawl = ? and decided_at is not null)
"""
_MOVED = "select term, since, until from keywords where crawl = ? and (since >= ? or until >= ?)"
_MASKS = "select methods, count(*) as posts from keyword_posts where crawl = ? group by methods"
_FRAMES = """
select f.* from keyword_frames f where f.crawl = ? and f.decided_at is not null order by f.frame desc limit ?
"""
_DECISIONS = """
select d.*, m.name from keyword_decisions d join keyword_methods m on m.method = d.method
where m.crawl = ? and d.frame >= ? order by d.frame, m.bit
"""

_LAST_DECISIONS = """
select m.name, d.precision, d.numbers from keyword_decisions d join keyword_methods m on m.method = d.method
where m.crawl = ? and d.frame = (select max(frame) from keyword_decisions latest where latest.method = d.method)
"""
_CANDIDATES = """
select c.term, c.counts, c.verdict, c.numbers, m.name from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.frame = (select max(frame) from keyword_decisions latest where latest.method = c.method)
and not exists (select 1 from keywords k where k.method = c.method and k.term = c.term and k.until is null)
and m.until is null
"""


class KeywordLine(Struct, frozen=True, kw_only=True):
    """One keyword of one method, from its entry to its exit."""

    term: str
    method: str
    since: datetime
    why: str
    numbers: dict[str, float]
    posts_collected: int | None = None
    """None: it has left."""
    posts_in_frame: int | None = None
    """In the last frame."""
    posts_only_it_found: int | None = None
    """Posts that its precision is estimated from; None: not estimated."""
    precision: Estimate | None = None
    """Claimed by the method: the share of its posts that belong to the event."""
    until: datetime | None = None
    until_why: str | None = None
    until_numbers: dict[str, float] | None = None


class MethodLine(Struct, frozen=True, kw_only=True):
    """What one method collected, alone and together with others."""

    name: str
    keywords: int
    posts_collected: int
    posts_only_it_found: int
    """Posts that no other method collected."""
    shared: dict[str, int]
    """By other method: posts that both collected."""
    precision: Estimate | None = None
    """Claimed by the method for everything that it has collected."""
    until: datetime | None = None


class CandidateLine(Struct, frozen=True, kw_only=True):
    """A term that a method considered in the last frame and does not follow."""

    term: str
    method: str
    posts_in_frame: int
    """In the last frame."""
    verdict: str
    numbers: dict[str, float]


class FrameLine(Struct, frozen=True, kw_only=True):
    """One decided frame."""

    began: datetime
    ends: datetime
    heard: int
    collected: int
    sampled: int
    volume: int | None
    """Posts on the whole network, counted or estimated; None: unknown."""
    cap: int | None
    lost: int
    posts: dict[str, int]
    """By method."""
    keywords: dict[str, int]
    """By method: how many it followed afterwards."""
    numbers: dict[str, dict[str, float]]
    entered: list[str]
    left: list[str]


async def read_events(tx: Transaction) -> dict[str, int]:
    """By name the crawls that have keywords."""
    return {row["name"]: row["crawl"] for row in await tx.fetch(_CRAWLS)}


async def find_event(tx: Transaction, name: str | None) -> tuple[int, str]:
    """The crawl that has keywords; raises `UserError` where none has, or several."""
    found = await read_events(tx)
    if not found:
        raise UserError("No crawl in this store has keywords.", 'Use flow = "event" in the crawl file.', code="unsupported")
    if name is not None and name not in found:
        raise UserError(f"Crawl {name!r} has no keywords.", f"Use one of: {', '.join(found)}.", code="unknown_crawl")
    if name is None and len(found) > 1:
        raise UserError("Several crawls have keywords.", f"Use --crawl with one of: {', '.join(found)}.", code="ambiguous")
    chosen = name or next(iter(found))
    return found[chosen], chosen


async def read_keywords(tx: Transaction, crawl: int, term: str | None = None) -> list[KeywordLine]:
    """Entries that were not followed by an exit; of one term all, in the order of time."""
    which, values = ("and k.term = ?", [term]) if term is not None else ("and k.until is null", [])
    rows = await tx.fetch(_KEYWORDS.format(which=which), crawl, *values)
    states = {row["name"]: msgspec.json.decode(row["state"], type=State) for row in await tx.fetch(_METHODS, crawl)}
    last = {(row["method"], row["term"]): sum(decoded(row["counts"])) for row in await tx.fetch(_LAST, crawl, crawl)}
    return [_keyword(row, states, last) for row in rows]


async def read_thresholds(tx: Transaction, crawl: int) -> dict[str, Thresholds]:
    """Return the thresholds of each method that has some, as of its last frame."""
    found = {row["name"]: decoded(row["numbers"]) for row in await tx.fetch(_LAST_DECISIONS, crawl)}
    return {name: msgspec.convert(numbers, Thresholds) for name, numbers in found.items() if "leaves_below" in numbers}


async def count_masks(tx: Transaction, crawl: int) -> dict[int, int]:
    """Count the posts by the methods that collected them, a bit for each method; takes a while for millions of posts."""
    return {int(row["methods"]): int(row["posts"]) for row in await tx.fetch(_MASKS, crawl)}


async def read_methods(tx: Transaction, crawl: int, masks: dict[int, int] | None = None) -> list[MethodLine]:
    """Return what each method collected; `masks`: posts that were counted before."""
    masks = await count_masks(tx, crawl) if masks is None else masks
    rows = await tx.fetch(_METHODS, crawl)
    bits = {row["name"]: 1 << row["bit"] for row in rows}
    precisions = {row["name"]: row["precision"] for row in await tx.fetch(_LAST_DECISIONS, crawl)}
    return [_method(row, bits, masks, precisions.get(row["name"])) for row in rows]


async def read_candidates(tx: Transaction, crawl: int, most: int = 20) -> list[CandidateLine]:
    """Return the terms that methods considered in the last frame and do not follow: the highest lower bound of the precision
    first, then those with the most posts."""
    found = [
        CandidateLine(
            term=row["term"],
            method=row["name"],
            posts_in_frame=sum(decoded(row["counts"])),
            verdict=row["verdict"],
            numbers=decoded(row["numbers"]),
        )
        for row in await tx.fetch(_CANDIDATES, crawl)
    ]
    found.sort(key=lambda each: (-each.numbers.get("low", 0.0), -each.posts_in_frame, each.term, each.method))
    return found[:most]


async def read_frames(tx: Transaction, crawl: int, most: int) -> list[FrameLine]:
    """The last so many frames, the oldest first."""
    frames = list(reversed(await tx.fetch(_FRAMES, crawl, most)))
    if not frames:
        return []
    decisions: dict[int, list[Row]] = {}
    for row in await tx.fetch(_DECISIONS, crawl, frames[0]["frame"]):
        decisions.setdefault(row["frame"], []).append(row)
    first = frames[0]["ends"]
    moved = await tx.fetch(_MOVED, crawl, first, first)
    return [_frame(row, decisions.get(row["frame"], []), moved) for row in frames]


def decoded(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def _keyword(row: Row, states: dict[str, State], last: dict[tuple[int, str], int]) -> KeywordLine:
    kept = states[row["name"]].keywords.get(row["term"]) if row["until"] is None else None
    return KeywordLine(
        term=row["term"],
        method=row["name"],
        since=from_micros(row["since"]),
        why=row["why"],
        numbers=decoded(row["numbers"]),
        posts_collected=None if kept is None else kept.posts,
        posts_in_frame=last.get((row["method"], row["term"])),
        posts_only_it_found=kept.precision.posts if kept is not None and kept.precision is not None else None,
        precision=None if kept is None else kept.precision,
        until=None if row["until"] is None else from_micros(row["until"]),
        until_why=row["until_why"],
        until_numbers=decoded(row["until_numbers"]),
    )


def _method(row: Row, bits: dict[str, int], masks: dict[int, int], precision: str | None) -> MethodLine:
    state = msgspec.json.decode(row["state"], type=State)
    name, own = row["name"], bits[row["name"]]
    others = {other: bit for other, bit in bits.items() if other != name}
    return MethodLine(
        name=name,
        keywords=0 if row["until"] is not None else len(state.keywords),
        posts_collected=sum(posts for mask, posts in masks.items() if mask & own),
        posts_only_it_found=masks.get(own, 0),
        shared={other: sum(posts for mask, posts in masks.items() if mask & own and mask & bit) for other, bit in others.items()},
        precision=None if precision is None else msgspec.json.decode(precision, type=Estimate),
        until=None if row["until"] is None else from_micros(row["until"]),
    )


def _frame(row: Row, decisions: list[Row], moved: Any) -> FrameLine:
    ends = row["ends"]
    return FrameLine(
        began=from_micros(row["frame"]),
        ends=from_micros(ends),
        heard=row["heard"],
        collected=row["collected"],
        sampled=row["sampled"],
        volume=row["volume"],
        cap=row["cap"],
        lost=row["lost"],
        posts={each["name"]: sum(decoded(each["posts"])) for each in decisions},
        keywords={each["name"]: each["keywords"] for each in decisions},
        numbers={each["name"]: decoded(each["numbers"]) for each in decisions},
        entered=sorted({each["term"] for each in moved if each["since"] == ends}),
        left=sorted({each["term"] for each in moved if each["until"] == ends}),
    )
