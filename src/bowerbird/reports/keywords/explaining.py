"""Why a term is followed or not, frame by frame, and which other terms occur in the same posts."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Transaction
from bowerbird.reports.keywords.reading import KeywordLine, decoded, read_keywords

_LOOKED_AT = """
select c.frame, c.counts, c.verdict, c.numbers, c.together, m.name from keyword_candidates c
join keyword_methods m on m.method = c.method where m.crawl = ? and c.term = ? order by c.frame desc, m.bit limit ?
"""
_PROBES = "select asked_at, answered_at, posts from keyword_probes where crawl = ? and term = ? order by probe desc limit 20"
_ORDERS = "select at, who, said from keyword_orders where crawl = ? and term = ? order by keyword_order"
_DECIDED = """
select term, at, who, said from keyword_orders where keyword_order in
    (select max(keyword_order) from keyword_orders where crawl = ? group by term)
and said <> 'free' order by keyword_order desc limit 500
"""
_FIRST = """
select min(frame) as frame from
    (select frame from keyword_frames where crawl = ? and decided_at is not null order by frame desc limit ?) newest
"""
_CANDIDATES = """
select c.term, c.counts, c.together, m.name from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.frame >= ?
"""
RELATED_FRAMES = 48
"""Frames in which related terms are counted."""


class Looked(Struct, frozen=True, kw_only=True):
    """How one method judged a term in one frame."""

    began: datetime
    method: str
    counts: list[int]
    verdict: str
    numbers: dict[str, float]


class Probed(Struct, frozen=True):
    asked_at: datetime
    answered_at: datetime | None
    posts: int | None


class Order(Struct, frozen=True):
    at: datetime
    who: str
    said: str


class Decided(Order, frozen=True, kw_only=True):
    """A term that is pinned or blocked."""

    term: str


class Explained(Struct, frozen=True, kw_only=True):
    """All that is known of one term."""

    term: str
    entries: list[KeywordLine]
    looked_at: list[Looked]
    """The newest frame first."""
    probes: list[Probed]
    orders: list[Order]


class Related(Struct, frozen=True, kw_only=True):
    """Another term that occurs in the same posts, as counted by one method in the last frames."""

    term: str
    method: str
    posts: int
    """Posts with it."""
    together: int
    """Posts with both."""
    share: float
    """Posts with both among those with either."""


async def explain(tx: Transaction, crawl: int, term: str, most: int = 50) -> Explained:
    rows = await tx.fetch(_LOOKED_AT, crawl, term, most)
    looked = [
        Looked(
            began=from_micros(row["frame"]),
            method=row["name"],
            counts=decoded(row["counts"]),
            verdict=row["verdict"],
            numbers=decoded(row["numbers"]),
        )
        for row in rows
    ]
    probes = [
        Probed(from_micros(row["asked_at"]), row["answered_at"] and from_micros(row["answered_at"]), row["posts"])
        for row in await tx.fetch(_PROBES, crawl, term)
    ]
    orders = [Order(from_micros(row["at"]), row["who"], row["said"]) for row in await tx.fetch(_ORDERS, crawl, term)]
    entries = await read_keywords(tx, crawl, term)
    return Explained(term=term, entries=entries, looked_at=looked, probes=probes, orders=orders)


async def read_decided(tx: Transaction, crawl: int) -> list[Decided]:
    """Return the terms that are pinned or blocked, the newest order first."""
    rows = await tx.fetch(_DECIDED, crawl)
    return [Decided(from_micros(row["at"]), row["who"], row["said"], term=row["term"]) for row in rows]


async def related_terms(tx: Transaction, crawl: int, term: str) -> list[Related]:
    """Return the terms that occur in the same posts, the closest first."""
    first = await tx.fetch_one(_FIRST, crawl, RELATED_FRAMES)
    posts: Counter[tuple[str, str]] = Counter()
    # A candidate is stored with the keywords of its posts, so a pair is counted from one side or both.
    of_term: Counter[tuple[str, str]] = Counter()
    of_others: Counter[tuple[str, str]] = Counter()
    for row in await tx.fetch(_CANDIDATES, crawl, first["frame"] if first is not None else 0):
        method, other = row["name"], row["term"]
        posts[method, other] += sum(decoded(row["counts"]))
        together = decoded(row["together"]) or {}
        if other == term:
            of_term.update({(method, keyword): count for keyword, count in together.items()})
        elif term in together:
            of_others[method, other] += together[term]
    found = []
    for method, other in of_term.keys() | of_others.keys():
        own, count = posts[method, term], posts[method, other]
        both = min(max(of_term[method, other], of_others[method, other]), own, count)
        if both:
            share = round(both / (own + count - both), 4)
            found.append(Related(term=other, method=method, posts=count, together=both, share=share))
    return sorted(found, key=lambda each: (-each.share, each.term, each.method))
