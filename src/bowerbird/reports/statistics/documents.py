"""The prepared documents, and how far the counting is."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Clock, Transaction

T = TypeVar("T")
_ONE = "select at, body from statistics where name = ?"
_STATE = """
select (select max(at) from statistics) as made_at, w.until, w.wanted_at,
    (select coalesce(max(post_no), 0) from posts) as top,
    (select count(*) from (select 1 from statistic_recounts limit 10000) r) as stale,
    (select cast(coalesce(sum(p.through - p.first + 1), 0) as bigint) from statistic_parts p
        where p.subject = 'posts' and p.state = 'counted') as counted
from statistic_work w where w.one = 1
"""


class Told(Struct, frozen=True):
    """One prepared document with its age."""

    at: datetime
    body: str


class Progress(Struct, frozen=True, kw_only=True):
    """How far the counting is."""

    as_of: datetime | None
    """When what is shown was made; None: never."""
    counted: int
    stored: int
    """Numbers of posts, which may have gaps."""
    stale: int
    """Posts that were counted and have gone since; at most ten thousand are told."""
    is_counting: bool
    is_wanted: bool
    """Somebody has asked for new numbers."""

    @property
    def share(self) -> float:
        return min(1.0, self.counted / self.stored) if self.stored else 1.0


async def read_progress(tx: Transaction, clock: Clock) -> Progress:
    row = await tx.fetch_one(_STATE)
    if row is None:
        return Progress(as_of=None, counted=0, stored=0, stale=0, is_counting=False, is_wanted=False)
    made = row["made_at"]
    return Progress(
        as_of=None if made is None else from_micros(made),
        counted=row["counted"],
        stored=row["top"],
        stale=row["stale"],
        is_counting=row["until"] > to_micros(clock.now()),
        is_wanted=row["wanted_at"] > (made or 0),
    )


async def read_document(tx: Transaction, name: str, kind: type[T]) -> tuple[T, datetime] | None:
    """A prepared document and when it was made; None where there is none yet."""
    row = await tx.fetch_one(_ONE, name)
    return None if row is None else (msgspec.json.decode(row["body"], type=kind), from_micros(row["at"]))
