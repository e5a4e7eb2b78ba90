"""Propose seeds from the posts of a store: of a time, of a place, or like a few examples."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.keywords.seeds import Proposal, Tally, propose_seeds
from bowerbird.model import Box
from bowerbird.model.terms import read_text
from bowerbird.ports import Row, Transaction

_POSTS = """
select p.post_no, p.text, coalesce(p.listed_at, p.created_at) as at,
    cast(cast(p.place as {json}) ->> 'longitude' as {real}) as longitude,
    cast(cast(p.place as {json}) ->> 'latitude' as {real}) as latitude
from posts p where p.text is not null and p.deleted_at is null and p.post_no > ? order by p.post_no limit ?
"""
_WORDS = {"sqlite": {"json": "text", "real": "real"}, "postgresql": {"json": "json", "real": "double precision"}}
_BATCH = 5_000
_MIN_POSTS, _MIN_EXAMPLES = 3, 2
"""Posts that must have a term: of a time or place, and of examples."""


class Wish(Struct, frozen=True, kw_only=True):
    """Which posts belong to the event: those of a time or place, or example texts."""

    since: datetime | None = None
    until: datetime | None = None
    box: Box | None = None
    examples: Sequence[str] = ()

    def covers(self, post: Row) -> bool:
        """True for a stored post of the time and place; never with examples, which are not stored posts."""
        return not self.examples and self._is_then(post["at"]) and self._is_there(post["longitude"], post["latitude"])

    def _is_then(self, at: int | None) -> bool:
        if at is None:
            return self.since is None and self.until is None
        return (self.since is None or at >= to_micros(self.since)) and (self.until is None or at < to_micros(self.until))

    def _is_there(self, longitude: float | None, latitude: float | None) -> bool:
        box = self.box
        if box is None:
            return True
        if longitude is None or latitude is None:
            return False
        return box.west <= longitude <= box.east and box.south <= latitude <= box.north


class Proposed(Struct, frozen=True):
    """Proposals, and how many posts were compared with how many others."""

    proposals: list[Proposal]
    posts: int
    others: int


async def propose(tx: Transaction, dialect: str, wish: Wish, most: int = 15) -> Proposed:
    """Return the terms that distinguish the event from ordinary posts and from all other posts of the store.

    Posts are read twice, because of the others only the terms of the event are counted."""
    sql = _POSTS.format(**_WORDS[dialect])
    event = Tally()
    for text in wish.examples:
        event.add(read_text(text))
    if not wish.examples:
        async for row in _rows(tx, sql):
            if wish.covers(row):
                event.add(read_text(row["text"]))
    others = Tally(event.counts)
    async for row in _rows(tx, sql):
        if not wish.covers(row):
            others.add(read_text(row["text"]))
    min_posts = _MIN_EXAMPLES if wish.examples else _MIN_POSTS
    return Proposed(propose_seeds(event, others, min_posts=min_posts, most=most), event.posts, others.posts)


async def _rows(tx: Transaction, sql: str) -> AsyncIterator[Row]:
    last = 0
    while rows := await tx.fetch(sql, last, _BATCH):
        last = rows[-1]["post_no"]
        for row in rows:
            yield row
