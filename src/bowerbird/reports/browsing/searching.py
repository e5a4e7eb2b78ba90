"""Searching what is stored: rows that meet an export's conditions, newest first or by a counter, page by page.

Nothing is indexed for it. A page looks through a stretch of numbers at most, which are in the order in which rows were found, and
says how far it came; the next page goes on from there. Hashtags and authors have indexes of their own and are found at once.
Why there is no index of words: docs/decisions/0142.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.choosing import Choice, Conditions, conditions, has_one_of, parts_of
from bowerbird.reports.blocks.picking import Picked, pick
from bowerbird.reports.blocks.tables import TABLES, Table
from bowerbird.reports.browsing.pages import LARGEST, read_token, token
from bowerbird.reports.browsing.word_conditions import in_texts, tags_of, with_tags
from bowerbird.reports.counting.by_time import FirstAt

STRETCH = 200_000
"""Rows that one page looks through at most."""
SEARCHED = ("posts", "users", "media")
_FIRST, _BATCH = 250, 5_000
"""Rows whose texts are looked at together, at first and at most: a common word is found soon."""
_NEWEST, _OLDEST = "newest", "oldest"
_DEARER = 10
"""How many rows could be looked through in the time in which one is looked up."""
_BY_TIME = ("posts", "users")
"""Their rows are numbered in the order of `found_at`."""
_TIMES = {"posts": "p.found_at", "users": "u.found_at", "media": "p.found_at"}


class Search(Struct, frozen=True, kw_only=True):
    """Which rows are wanted, in which order, and which page of them."""

    what: str
    choice: Choice = Choice()
    order: str = _NEWEST
    """`newest` or `oldest` (found), or a counter: the most first."""
    after: str | None = None
    size: int = 50
    stretch: int = STRETCH
    columns: frozenset[str] | None = None
    """What is told of each row, at least; None: everything."""

    @property
    def table(self) -> Table:
        return TABLES[self.what]

    @property
    def is_by_number(self) -> bool:
        return self.order in (_NEWEST, _OLDEST)


class Found(Struct, frozen=True, kw_only=True):
    """A page of what was found."""

    rows: tuple[Picked, ...]
    after: str | None = None
    """Ask with it for the next page; None: there is none."""
    looked: int = 0
    """Rows that were looked through for this page, roughly: numbers have gaps."""
    reached: datetime | None = None
    """When the last of them was found."""
    is_cut: bool = False
    """The page ended because enough was looked through: there may be more further on."""


class _Stretch(NamedTuple):
    """Numbers from `low` up to and without `high`; `rest`: whether there are rows beyond it."""

    low: int
    high: int
    rest: bool


async def search(database: Database, wanted: Search) -> Found:
    """One page; raises `UserError` for what rows of this kind do not have."""
    if not 1 <= wanted.size <= LARGEST:
        raise UserError(f"a page has 1 to {LARGEST:,} lines, not {wanted.size:,}")
    async with database.reading() as tx:
        return await _Searcher(database, tx, wanted).page()


class _Searcher:
    """Finds one page, as of one moment."""

    def __init__(self, database: Database, tx: Transaction, wanted: Search) -> None:
        self._database = database
        self._tx = tx
        self._wanted = wanted
        self._table = wanted.table
        (self._number,) = self._table.keys
        words = wanted.choice.words
        self._parts, self._tags = parts_of(self._table, words), tags_of(self._table, words)
        self._is_upwards = wanted.order == _OLDEST
        value = None if wanted.is_by_number else f"coalesce({self._table.counted_by(wanted.order)}, -1)"
        self._sorted_by = [self._number] if value is None else [value, self._number]

    async def page(self) -> Found:
        begin = read_token(self._wanted.after) if self._wanted.after is not None else []
        stretch = await self._stretch(begin[0] if begin else None)
        where = await self._conditions(stretch)
        numbers, place = await self._numbers(where, begin[1:])
        return await self._told(stretch, await self._rows([each[-1] for each in numbers]), place)

    async def _rows(self, numbers: list[int]) -> tuple[Picked, ...]:
        if not numbers:
            return ()
        picked = await pick(self._database, self._tx, self._table, numbers, columns=self._wanted.columns)
        return tuple(picked[number] for number in numbers if number in picked)

    async def _told(self, stretch: _Stretch, rows: tuple[Picked, ...], place: list[int] | None) -> Found:
        """`place`: where the rows that are shown end, if the stretch has more of them."""
        end = stretch.high if self._is_upwards else stretch.low
        after = token([end]) if stretch.rest else None
        if place is not None and self._wanted.is_by_number:
            end = place[-1] + 1 if self._is_upwards else place[-1]
            after = token([end])
        elif place is not None:
            after = token([stretch.high, *place])
        is_cut = place is None and stretch.rest
        return Found(
            rows=rows,
            after=after,
            looked=abs(end - (stretch.low if self._is_upwards else stretch.high)),
            reached=await self._found_at(end) if is_cut or not self._wanted.is_by_number else None,
            is_cut=is_cut,
        )

    async def _found_at(self, number: int) -> datetime | None:
        time, number_of = _TIMES[self._wanted.what], self._number
        sql = f"select {time} as at from {self._table.tables} where {number_of} >= ? order by {number_of} limit 1"
        row = await self._tx.fetch_one(sql, number)
        return None if row is None else from_micros(row["at"])

    async def _stretch(self, begin: int | None) -> _Stretch:
        """Which numbers this page looks through."""
        first, end = await self._bounds()
        if begin is not None:
            first, end = (max(begin, first), end) if self._is_upwards else (first, min(begin, end))
        far = await self._far(first, end)
        if self._is_upwards:
            return _Stretch(first, min(far, end), far < end)
        return _Stretch(max(far, first), end, far > first)

    async def _far(self, first: int, end: int) -> int:
        """How far this page may look: an index names all rows of an author, and the next ones with a hashtag."""
        if self._wanted.choice.users:
            return end if self._is_upwards else first
        if self._tags and not self._parts:
            return await self._far_by_tag(first, end)
        return first + self._wanted.stretch if self._is_upwards else end - self._wanted.stretch

    async def _far_by_tag(self, first: int, end: int) -> int:
        way = "asc" if self._is_upwards else "desc"
        row = await self._tx.fetch_one(
            f"select post_no from post_tags where tag {self._database.any('text')} and post_no >= ? and post_no < ? "
            f"order by post_no {way} limit 1 offset {max(self._wanted.stretch // _DEARER, 1)}",
            *(self._database.members(self._tags), first, end),
        )
        return (end if self._is_upwards else first) if row is None else int(row["post_no"]) + (not self._is_upwards)

    async def _bounds(self) -> tuple[int, int]:
        """The numbers among which rows can be: nothing was written after it was found."""
        base, plain = self._table.tables.split(" ")[0], self._number.partition(".")[2]
        # Two look-ups in one: each of them alone is one step in the index.
        (row,) = await self._tx.fetch(
            f"select (select min({plain}) from {base}) as low, (select max({plain}) from {base}) as high"
        )
        low, high = int(row["low"] or 1), int(row["high"] or 0) + 1
        choice, times = self._wanted.choice, FirstAt(self._tx, base, plain, "found_at")
        if self._wanted.what in _BY_TIME and choice.since is not None:
            low = max(low, await times.first_at(choice.since))
        if self._wanted.what == "users" and choice.until is not None:
            high = min(high, await times.first_at(choice.until))
        return min(low, high), high

    async def _conditions(self, stretch: _Stretch) -> Conditions:
        found = [
            await conditions(self._database, self._tx, self._table, self._wanted.choice),
            Conditions(f"{self._number} >= ? and {self._number} < ?", (stretch.low, stretch.high)),
        ]
        if self._wanted.choice.words:
            found.append(self._words(stretch))
        return Conditions(" and ".join(each.sql for each in found), tuple(value for each in found for value in each.values))

    def _words(self, stretch: _Stretch) -> Conditions:
        texts = in_texts(self._database, self._table, self._parts) if self._parts else None
        tagged = with_tags(self._database, self._tags, stretch.low, stretch.high) if self._tags else None
        several = [each for each in (texts, tagged) if each is not None]
        sql = " or ".join(each.sql for each in several)
        return Conditions(f"({sql})", tuple(value for each in several for value in each.values))

    async def _numbers(self, where: Conditions, place: list[int]) -> tuple[list[tuple[int, ...]], list[int] | None]:
        """What is to be shown, each by what sorts it, and where the next page begins in the same stretch."""
        size, found = self._wanted.size, list[tuple[int, ...]]()
        batch = _FIRST if self._parts else size + 1
        while len(found) <= size:
            columns = await self._batch(where, place, batch)
            if not columns:
                break
            keys = list(zip(*columns[: len(self._sorted_by)], strict=True))
            place = list(keys[-1])
            found += await self._having(keys, columns[len(place) :])
            if len(keys) < batch:
                break
            batch = min(batch * 4, _BATCH)
        shown = found[:size]
        return shown, list(shown[-1]) if len(found) > size else None

    async def _batch(self, where: Conditions, place: list[int], limit: int) -> Sequence[Sequence[Any]]:
        sign, way = (">", "asc") if self._is_upwards else ("<", "desc")
        by = self._sorted_by
        beyond = f" and ({', '.join(by)}) {sign} ({', '.join('?' * len(place))})" if place else ""
        texts = [self._table.columns[name] for name in self._table.words] if self._parts else []
        order = ", ".join(f"{each} {way}" for each in by)
        select = f"select {', '.join([*by, *texts])} from {self._table.tables} where {where.sql}{beyond}"
        return await self._tx.fetch_columns(f"{select} order by {order} limit {limit}", *where.values, *place)

    async def _having(self, keys: list[tuple[int, ...]], texts: Sequence[Sequence[Any]]) -> list[tuple[int, ...]]:
        """Those of the rows that have one of the words."""
        if not self._parts:
            return keys
        has = await asyncio.to_thread(has_one_of, self._parts, *texts)
        tagged = await self._with_tag([key[-1] for key, one in zip(keys, has, strict=True) if not one]) if self._tags else set()
        return [key for key, one in zip(keys, has, strict=True) if one or key[-1] in tagged]

    async def _with_tag(self, numbers: list[int]) -> set[int]:
        rows = await self._tx.fetch(
            f"select post_no from post_tags where tag {self._database.any('text')} and post_no {self._database.any('bigint')}",
            *(self._database.members(self._tags), self._database.members(numbers)),
        )
        return {row["post_no"] for row in rows}


def orders_of(what: str) -> tuple[str, ...]:
    """How rows of a kind can be sorted."""
    return (_NEWEST, _OLDEST, *TABLES[what].counters)
