"""Seeds that a store itself proposes: terms special for a window of time, for a place, or for a few example posts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import log

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import Box
from bowerbird.model.terms import Kind, Reading, kind_of, read_text
from bowerbird.policies.keywords.counting import terms_of
from bowerbird.ports import Transaction

_POSTS = """
select p.post_no, p.text, coalesce(p.listed_at, p.created_at) as at,
    cast(cast(p.place as {json}) ->> 'longitude' as {real}) as longitude,
    cast(cast(p.place as {json}) ->> 'latitude' as {real}) as latitude
from posts p where p.text is not null and p.deleted_at is null and p.post_no > ? order by p.post_no limit ?
"""
_WORDS = {"sqlite": {"json": "text", "real": "real"}, "postgresql": {"json": "json", "real": "double precision"}}
_BATCH = 5_000
_LEAST_LIFT = 3.0
_SHORTEST = 3
"""Letters of a word that may be proposed."""


class Wish(Struct, frozen=True, kw_only=True):
    """Which posts are of the event: of a time, a place, or like these."""

    since: datetime | None = None
    until: datetime | None = None
    box: Box | None = None
    examples: Sequence[str] = ()

    def covers(self, at: int | None, longitude: float | None, latitude: float | None) -> bool:
        if self.since is not None and (at is None or at < to_micros(self.since)):
            return False
        if self.until is not None and (at is None or at >= to_micros(self.until)):
            return False
        if self.box is None:
            return True
        box = self.box
        return (
            longitude is not None
            and latitude is not None
            and box.west <= longitude <= box.east
            and box.south <= latitude <= box.north
        )


class Proposal(Struct, frozen=True, kw_only=True):
    """A term to begin with, and why."""

    term: str
    kind: str
    posts: int
    """Of the event's posts, those that have it."""
    share: float
    elsewhere: float
    """The share of all others that have it."""
    lift: float
    reason: str


async def propose(tx: Transaction, dialect: str, wish: Wish, most: int = 15) -> list[Proposal]:
    """The most special terms, those of the most posts first; none where the event has too few posts or nothing special."""
    inside, outside = _Tally(), _Tally()
    for text in wish.examples:
        inside.add(read_text(text))
    sql, last = _POSTS.format(**_WORDS[dialect]), 0
    while rows := await tx.fetch(sql, last, _BATCH):
        last = rows[-1]["post_no"]
        for row in rows:
            is_inside = not wish.examples and wish.covers(row["at"], row["longitude"], row["latitude"])
            (inside if is_inside else outside).add(read_text(row["text"]))
    return proposals(inside, outside, 2 if wish.examples else 3)[:most]


class _Tally:
    """Posts, and those with each term."""

    def __init__(self) -> None:
        self.posts = 0
        self.terms: Counter[str] = Counter()

    def add(self, reading: Reading) -> None:
        self.posts += 1
        self.terms.update(terms_of(reading))


def proposals(inside: _Tally, outside: _Tally, least: int) -> list[Proposal]:
    found = [
        each
        for term, posts in inside.terms.items()
        if posts >= least and _is_askable(term) and (each := _proposal(term, posts, inside, outside)).lift >= _LEAST_LIFT
    ]
    ranked = sorted(found, key=lambda each: (-each.posts * log(each.lift), each.kind != Kind.HASHTAG, each.term))
    return list(_without_parts(ranked))


def _is_askable(term: str) -> bool:
    return kind_of(term) is not Kind.WORD or (len(term) >= _SHORTEST and not term.isdigit())


def _proposal(term: str, posts: int, inside: _Tally, outside: _Tally) -> Proposal:
    share = posts / inside.posts
    # Half a post more, so that what nobody else has is not infinitely special.
    elsewhere = (outside.terms[term] + 0.5) / (outside.posts + 1)
    times, others = f"{share / elsewhere:,.0f} times as often", f"in {outside.posts:,} others"
    reason = f"in {posts:,} of {inside.posts:,} posts ({share:.0%}), {times} as {others}"
    return Proposal(
        term=term,
        kind=kind_of(term),
        posts=posts,
        share=round(share, 4),
        elsewhere=round(elsewhere, 6),
        lift=round(share / elsewhere, 2),
        reason=reason,
    )


def _without_parts(ranked: Iterable[Proposal]) -> Iterable[Proposal]:
    """A word that stands for the same posts as a hashtag or phrase before it is not proposed again."""
    taken: list[Proposal] = []
    for each in ranked:
        words = set(each.term.lstrip("#").split(" "))
        if not any(words <= set(other.term.lstrip("#").split(" ")) and each.posts <= other.posts * 1.2 for other in taken):
            taken.append(each)
    return taken
