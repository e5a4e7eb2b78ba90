"""The rows of `statistic_parts` and `statistic_counts`: what was counted of which posts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.modules.statistics.tally import Tally
from bowerbird.ports import Database, Row, Transaction

SIZE = {"posts": 250_000, "users": 50_000}
"""Numbers of one part. Smaller ones are counted again sooner, larger ones have fewer rows between them."""


class PartState(StrEnum):
    """What the count of a part is good for."""

    COUNTED = "counted"
    """It stands."""
    AGAIN = "again"
    """The same posts are counted anew; it stands when it is whole."""
    FORMER = "former"
    """Another stands in its place, and it is taken away."""


_COLUMNS = "part, subject, first, last, through, state, counted_at, body"
_ALL = f"select {_COLUMNS} from statistic_parts order by subject, first, part"
_NEW = """
insert into statistic_parts (subject, first, last, through, state, counted_at) values (?, ?, ?, ?, ?, ?)
returning part
"""
_ADVANCE = "update statistic_parts set through = ?, counted_at = ?, body = ? where part = ?"
_MARK = "update statistic_parts set state = ?, counted_at = ? where part = ?"
_ADD = """
insert into statistic_counts (part, measure, at, key, other, n, example) values (?, ?, ?, ?, ?, ?, ?)
on conflict (part, measure, at, key, other) do update set n = statistic_counts.n + excluded.n, example = excluded.example
"""
_SOME = """
delete from statistic_counts where part = ? and (measure, at, key, other) in (
    select measure, at, key, other from statistic_counts where part = ? order by measure, at, key, other limit ?)
"""
_DROP = "delete from statistic_parts where part = ?"
_STALE = "select number, recount from statistic_recounts order by recount limit ?"


class CountedPart(Struct, frozen=True, kw_only=True):
    """Posts or users with neighbouring numbers, as far as they are counted."""

    part: int
    subject: str
    first: int
    last: int
    through: int
    state: PartState
    counted_at: datetime
    body: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.through >= self.last


async def read_parts(tx: Transaction) -> Sequence[CountedPart]:
    return [_part(row) for row in await tx.fetch(_ALL)]


def _part(row: Row) -> CountedPart:
    return CountedPart(**{**row, "state": PartState(row["state"]), "counted_at": from_micros(row["counted_at"])})


async def begin(tx: Transaction, subject: str, first: int, state: PartState, at: int) -> None:
    """A part that begins with this number, with nothing counted yet."""
    await tx.fetch_one(_NEW, subject, first, first + SIZE[subject] - 1, first - 1, state, at)


async def advance(tx: Transaction, part: CountedPart, through: int, at: int, tally: Tally | None, body: str | None) -> None:
    """Writes down what was counted up to a number."""
    if tally is not None and tally.counts:
        await tx.execute_many(_ADD, tally.rows(part.part))
    await tx.execute(_ADVANCE, through, at, body, part.part)


async def replace(tx: Transaction, old: CountedPart | None, new: CountedPart, at: int) -> None:
    """From now on the new count of the same posts stands."""
    await tx.execute(_MARK, PartState.COUNTED, at, new.part)
    if old is not None:
        await tx.execute(_MARK, PartState.FORMER, at, old.part)


async def remove_some(tx: Transaction, part: CountedPart, most: int) -> None:
    """Removes some rows of a former part, and the part with the last of them."""
    if await tx.execute(_SOME, part.part, part.part, most) < most:
        await tx.execute(_DROP, part.part)


async def stale_posts(tx: Transaction, most: int = 10_000) -> tuple[Collection[int], int]:
    """Posts that lost their content since they were counted, and up to which note that is."""
    rows = await tx.fetch(_STALE, most)
    return {row["number"] for row in rows}, max((row["recount"] for row in rows), default=0)


async def heed_stale(tx: Transaction, database: Database, posts: Collection[int]) -> None:
    """Takes off the notes of posts that are about to be counted again."""
    if posts:
        await tx.execute(f"delete from statistic_recounts where number {database.any('bigint')}", database.members(sorted(posts)))
