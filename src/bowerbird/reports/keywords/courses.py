"""The course of an event: posts of each method and the background over time, keywords from entry to exit, one tag's traffic."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.keywords.keyword_set import parse_keyword
from bowerbird.model.terms import term_form
from bowerbird.ports import Transaction
from bowerbird.reports.keywords.grading import grade
from bowerbird.reports.keywords.reading import decoded, find_event

_POSTS = """
select d.frame, d.posts, d.background, m.name from keyword_decisions d join keyword_methods m on m.method = d.method
where m.crawl = ? order by d.frame, m.bit
"""
_BARS = """
select k.term, m.name, k.since, k.until from keywords k join keyword_methods m on m.method = k.method
where k.crawl = ? and k.term in (select term from keywords where crawl = ? group by term order by min(since), term limit ?)
order by k.since, k.term, m.bit
"""
_TRAFFIC = """
select c.frame, c.counts, m.name from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.term = ? order by c.frame
"""
_LATELY = """
select c.term, c.counts from keyword_candidates c join keyword_methods m on m.method = c.method
where m.crawl = ? and c.verdict = 'in' order by c.frame desc, c.term limit 5000
"""
_MOST_BARS = 40
_MOVES = """
select k.term, m.name, k.since, k.why, k.until, k.until_why from keywords k join keyword_methods m on m.method = k.method
where k.crawl = ? order by k.keyword desc limit ?
"""


class Bar(Struct, frozen=True):
    """A keyword, from when to when a method followed it."""

    term: str
    method: str
    since: datetime
    until: datetime | None


class Move(Struct, frozen=True, kw_only=True):
    """A keyword that entered or left the set of a method."""

    at: datetime
    term: str
    method: str
    is_entry: bool
    why: str


class Course(Struct, frozen=True, kw_only=True):
    """What the figures of an event show."""

    crawl: str
    posts: dict[str, dict[datetime, int]]
    """By method, by frame."""
    background: dict[datetime, int]
    noise: dict[str, dict[datetime, int]]
    """By method, by frame: posts that are noise by labels; empty without labels."""
    bars: list[Bar]
    term: str
    traffic: dict[str, dict[datetime, int]]
    """Of one term, by method, by frame."""


NOTHING = Course(crawl="", posts={}, background={}, noise={}, bars=[], term="", traffic={})
"""Of a store without keywords."""


async def read_moves(tx: Transaction, crawl: int, most: int = 500) -> tuple[list[Bar], list[Move]]:
    """The newest entries of a crawl, each with its exit, as bars and as a list of moves, the newest first."""
    bars, moves = [], []
    for row in await tx.fetch(_MOVES, crawl, most):
        since, until = from_micros(row["since"]), None if row["until"] is None else from_micros(row["until"])
        bars.append(Bar(row["term"], row["name"], since, until))
        moves.append(Move(at=since, term=row["term"], method=row["name"], is_entry=True, why=row["why"]))
        if until is not None:
            moves.append(Move(at=until, term=row["term"], method=row["name"], is_entry=False, why=row["until_why"] or ""))
    return bars, sorted(moves, key=lambda move: (move.at, move.term, move.method), reverse=True)


async def read_course(tx: Transaction, name: str | None, term: str | None) -> Course:
    if name is None and await tx.fetch_one("select 1 as one from keyword_methods limit 1") is None:
        return NOTHING
    crawl, called = await find_event(tx, name)
    posts: dict[str, dict[datetime, int]] = {}
    background: dict[datetime, int] = {}
    for row in await tx.fetch(_POSTS, crawl):
        began = from_micros(row["frame"])
        posts.setdefault(row["name"], {})[began] = sum(decoded(row["posts"]))
        background[began] = sum(decoded(row["background"]) or ())
    shown = parse_keyword(term) if term is not None else await _busiest(tx, crawl)
    traffic: dict[str, dict[datetime, int]] = {}
    for row in await tx.fetch(_TRAFFIC, crawl, shown):
        traffic.setdefault(row["name"], {})[from_micros(row["frame"])] = sum(decoded(row["counts"]))
    bars = [
        Bar(row["term"], row["name"], from_micros(row["since"]), None if row["until"] is None else from_micros(row["until"]))
        for row in await tx.fetch(_BARS, crawl, crawl, _MOST_BARS)
    ]
    noise = await _noise(tx, crawl)
    return Course(
        crawl=called, posts=posts, background=background, noise=noise, bars=bars, term=term_form(shown), traffic=traffic
    )


async def _busiest(tx: Transaction, crawl: int) -> str:
    """Return the keyword with the most posts in the last frames."""
    posts: Counter[str] = Counter()
    for row in await tx.fetch(_LATELY, crawl):
        posts[row["term"]] += sum(decoded(row["counts"]))
    return max(posts, key=lambda term: (posts[term], term), default="")


async def _noise(tx: Transaction, crawl: int) -> dict[str, dict[datetime, int]]:
    """Return the noise of each method by frame, as labels measure it."""
    if await tx.fetch_one("select 1 as one from keyword_labels where crawl = ? limit 1", crawl) is None:
        return {}
    graded = await grade(tx, crawl)
    return {each.method: {one.frame: one.noise for one in each.frames} for each in graded.methods if each.frames}
