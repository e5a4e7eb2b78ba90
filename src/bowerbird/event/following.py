"""The keywords that all methods follow, as this process knows them: a copy of the database's, renewed when that changes."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, structs

from bowerbird.event.rows import MethodRow, read_methods, read_progress
from bowerbird.model.terms import Matcher, Reading
from bowerbird.ports import Transaction


class Followed(Struct, frozen=True):
    """All keywords at one moment, ready to be looked for."""

    version: int
    decided: datetime
    """The last frame that is decided."""
    share: float
    matcher: Matcher
    bits: dict[str, int]
    """By keyword: the methods that follow it."""

    def mask(self, post: Reading) -> int:
        """The methods that a post belongs to."""
        found = 0
        for term in self.matcher.matched(post):
            found |= self.bits[term]
        return found


class Following:
    """Knows what is followed."""

    def __init__(self, crawl: int) -> None:
        self.crawl = crawl
        self._known: Followed | None = None

    async def now(self, tx: Transaction) -> Followed:
        """What is followed in this transaction: one row is read, and all of them only when that says so."""
        progress = await read_progress(tx, self.crawl)
        known = self._known
        if known is None or known.version != progress.version:
            known = followed(progress.version, progress.decided, await read_methods(tx, self.crawl))
        self._known = structs.replace(known, decided=progress.decided, share=progress.share)
        return self._known


def followed(version: int, decided: datetime, methods: list[MethodRow]) -> Followed:
    bits: dict[str, int] = {}
    for row in methods:
        for term in row.state.keywords:
            bits[term] = bits.get(term, 0) | 1 << row.bit
    return Followed(version, decided, 1.0, Matcher(bits), bits)
