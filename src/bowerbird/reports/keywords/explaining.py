"""Why a term is followed or not, frame by frame; and which others its traffic resembles or stands beside."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.policies.keywords.correlation import pearson
from bowerbird.ports import Transaction
from bowerbird.reports.keywords.reading import KeywordLine, decoded, read_keywords

_LOOKED_AT = """
select c.frame, c.counts, c.verdict, c.numbers, c.together, m.name from keyword_candidates c
join keyword_methods m on m.method = c.method where m.crawl = ? and c.term = ? order by c.frame desc, m.bit limit ?
"""
_PROBES = "select asked_at, answered_at, posts from keyword_probes where crawl = ? and term = ? order by probe desc limit 20"
_ORDERS = "select at, who, said from keyword_orders where crawl = ? and term = ? order by keyword_order"
_FRAMES = """
select c.frame, c.term, c.counts, c.together, m.name from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.frame >= (select coalesce(min(frame), 0) from
    (select frame from keyword_frames where crawl = ? and decided_at is not null order by frame desc limit ?) newest)
order by c.frame
"""
_ALIKE_FRAMES = 48


class Looked(Struct, frozen=True, kw_only=True):
    """What one method saw of a term in one frame."""

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


class Explained(Struct, frozen=True, kw_only=True):
    """All that is known of one term."""

    term: str
    entries: list[KeywordLine]
    looked_at: list[Looked]
    """The newest frame first."""
    probes: list[Probed]
    orders: list[Order]


class Related(Struct, frozen=True, kw_only=True):
    """Another term, seen from one."""

    term: str
    method: str
    correlation: float
    """Pearson's, of the posts in each slot of the last frames."""
    together: int
    """Posts of these frames that carried both."""
    posts: int


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


async def related(tx: Transaction, crawl: int, term: str) -> list[Related]:
    """The other terms of the last frames, those with the most in common first."""
    by_method: dict[str, _Courses] = {}
    for row in await tx.fetch(_FRAMES, crawl, crawl, _ALIKE_FRAMES):
        courses = by_method.setdefault(row["name"], _Courses())
        courses.add(row["frame"], row["term"], decoded(row["counts"]), decoded(row["together"]) or {})
    found = [each for name, courses in by_method.items() for each in courses.beside(term, name)]
    return sorted(found, key=lambda each: (-each.together, -each.correlation, each.term, each.method))


class _Courses:
    """The traffic of all terms that one method looked at."""

    def __init__(self) -> None:
        self._frames: dict[int, int] = {}
        self._counts: dict[str, dict[int, list[int]]] = {}
        self._together: Counter[tuple[str, str]] = Counter()

    def add(self, frame: int, term: str, counts: list[int], together: dict[str, int]) -> None:
        self._frames[frame] = len(counts)
        self._counts.setdefault(term, {})[frame] = counts
        for other, posts in together.items():
            self._together[term, other] += posts

    def beside(self, term: str, method: str) -> list[Related]:
        if term not in self._counts:
            return []
        own = self._course(term)
        return [
            Related(
                term=other,
                method=method,
                correlation=round(pearson(own, self._course(other)), 4),
                together=max(self._together[term, other], self._together[other, term]),
                posts=sum(self._course(other)),
            )
            for other in self._counts
            if other != term
        ]

    def _course(self, term: str) -> list[int]:
        counts = self._counts[term]
        return [each for frame, slots in self._frames.items() for each in counts.get(frame, [0] * slots)]
