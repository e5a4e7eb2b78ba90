"""Why a term is followed or not, frame by frame; and which others its traffic resembles or stands beside."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict

from bowerbird.clock import from_micros
from bowerbird.keywords.related import Related, closeness, find_related
from bowerbird.ports import Row, Transaction
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
_COLLECTED = """
select d.frame, d.posts, m.name from keyword_decisions d join keyword_methods m on m.method = d.method
where m.crawl = ? and d.frame >= ? order by d.frame
"""
_CANDIDATES = """
select c.frame, c.term, c.counts, c.together, m.name from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.frame >= ? order by c.frame
"""
_ALIKE_FRAMES = 48


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


class RelatedBy(Related, frozen=True, kw_only=True):
    """Another term, seen from one by what a method collected in the last frames."""

    method: str


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


async def related_terms(tx: Transaction, crawl: int, term: str) -> list[RelatedBy]:
    """Return the other terms that methods considered in the last frames, the closest first."""
    first = await tx.fetch_one(_FIRST, crawl, _ALIKE_FRAMES)
    since = first["frame"] if first is not None else 0
    by_method: dict[str, _Courses] = {}
    for row in await tx.fetch(_COLLECTED, crawl, since):
        by_method.setdefault(row["name"], _Courses()).posts[row["frame"]] = decoded(row["posts"])
    for row in await tx.fetch(_CANDIDATES, crawl, since):
        by_method[row["name"]].add(row)
    found = [RelatedBy(method=name, **asdict(each)) for name, courses in by_method.items() for each in courses.find_related(term)]
    return sorted(found, key=lambda each: (*closeness(each), each.method))


class _Courses:
    """The traffic of all terms that one method looked at."""

    def __init__(self) -> None:
        self.posts: dict[int, list[int]] = {}
        """All that it collected, by frame and slot."""
        self._counts: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
        self._together: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, row: Row) -> None:
        self._counts[row["term"]][row["frame"]] = decoded(row["counts"])
        self._together[row["term"]].update(decoded(row["together"]) or {})

    def find_related(self, term: str) -> list[Related]:
        traffic = {each: self._course(counts) for each, counts in self._counts.items()}
        return find_related(term, traffic, self._together, sum(map(sum, self.posts.values())))

    def _course(self, counts: dict[int, list[int]]) -> list[int]:
        """With as many zeros as a frame has slots where it was not looked at."""
        return [each for frame, posts in self.posts.items() for each in counts.get(frame) or [0] * len(posts)]
