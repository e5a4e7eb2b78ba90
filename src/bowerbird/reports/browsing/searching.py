"""Searching what is stored: rows that meet an export's conditions, newest first or by a counter, page by page.

Nothing is indexed for it. A page looks through a stretch of numbers at most, which are in the order in which rows were found, and
says how far it came; the next page goes on from there. Hashtags and authors have indexes of their own and are found at once.
There is no full-text index: it would be a second copy of everybody's words, in whose files deleted words stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct, structs

from bowerbird.clock import from_micros
from bowerbird.db.sqlite.millions import by_number
from bowerbird.errors import UserError
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.picking import Picked, pick
from bowerbird.reports.blocks.selection.choosing import Choice, Conditions, conditions, has_one_of, parts_of
from bowerbird.reports.blocks.tables import TABLES, Table
from bowerbird.reports.browsing.pages import LARGEST, read_token, token
from bowerbird.reports.browsing.word_conditions import in_texts, tags_of, with_tags
from bowerbird.reports.counting.by_time import FirstAt

STRETCH = 200_000
"""Rows that one page looks through at most."""
MOST_COUNTED = 10_000
"""Rows that are counted while somebody waits."""
SEARCHED = ("posts", "users", "media")
_FIRST, _BATCH = 250, 5_000
"""Rows whose texts are looked at together, at first and at most: a common word is found soon."""
_NEWEST, _OLDEST = "newest", "oldest"
Key = tuple[int, ...]
"""What sorts a row: its number, or a counter and its number."""
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
    before: str | None = None
    """Instead of `after`: the page that ends where another one began."""
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
    before: str | None = None
    """Ask with it for the page before; None: this is the first."""
    looked: int = 0
    """Rows that were looked through for this page, roughly: numbers have gaps."""
    reached: datetime | None = None
    """When the last of them was found."""
    is_cut: bool = False
    """The page ended because enough was looked through: there may be more further on."""


class Matching(Struct, frozen=True, kw_only=True):
    """How many rows meet the conditions of a search."""

    count: int
    is_more: bool = False
    """There are more than so many: nobody counted on."""
    among: int | None = None
    """The rows that were looked through, those found last, where these are not all."""
    is_rough: bool = False
    """It is an estimate, and counts those that are gone too."""


class _Stretch(NamedTuple):
    """Numbers from `low` up to and without `high`, of those from `first` to `end` among which rows can be."""

    low: int
    high: int
    first: int
    end: int


async def search(database: Database, wanted: Search) -> Found:
    """One page; raises `UserError` for what rows of this kind do not have."""
    if not 1 <= wanted.size <= LARGEST:
        raise UserError(f"a page has 1 to {LARGEST:,} lines, not {wanted.size:,}")
    async with database.reading() as tx:
        found = await _Searcher(database, tx, wanted).page()
        if wanted.before is not None and found.before is None and len(found.rows) < wanted.size:
            # Whoever comes back to the beginning sees the first page whole.
            return await _Searcher(database, tx, structs.replace(wanted, before=None, after=None)).page()
        return found


class _Searcher:
    """Finds one page, as of one moment. Backwards it looks the other way, and turns round what it found."""

    def __init__(self, database: Database, tx: Transaction, wanted: Search) -> None:
        self._database = database
        self._tx = tx
        self._wanted = wanted
        self._table = wanted.table
        (self._number,) = self._table.keys
        words = wanted.choice.words
        self._parts, self._tags = parts_of(self._table, words), tags_of(self._table, words)
        value = None if wanted.is_by_number else f"coalesce({self._table.counted_by(wanted.order)}, -1)"
        self._sorted_by = [self._number] if value is None else [value, self._number]
        self._begin = self._read(wanted.after if wanted.before is None else wanted.before)
        self._is_back = wanted.before is not None
        self._is_upwards = (wanted.order == _OLDEST) != self._is_back
        # By a counter rows are sorted within a stretch: the one above is looked through when this one has no more.
        self._climbs = self._is_upwards and (wanted.is_by_number or len(self._begin) == 1)

    def _read(self, written: str | None) -> list[int]:
        """Where the page begins: at a number, or in a stretch that ends at a number behind some row; nothing: at the end."""
        if written is None:
            return []
        return read_token(written, *((1,) if self._wanted.is_by_number else (1, 1 + len(self._sorted_by))))

    async def page(self) -> Found:
        stretch = await self._stretch()
        keys, place = await self._numbers(await self._conditions(stretch), self._begin[1:])
        if self._is_back:
            keys.reverse()
        return await self._told(stretch, keys, place)

    async def count(self) -> Matching:
        """How many rows there are, up to the size of the page."""
        stretch = await self._stretch()
        keys, place = await self._numbers(await self._conditions(stretch), [])
        is_whole = stretch.low <= stretch.first or place is not None
        return Matching(count=len(keys), is_more=place is not None, among=None if is_whole else stretch.high - stretch.low)

    async def _rows(self, numbers: list[int]) -> tuple[Picked, ...]:
        if not numbers:
            return ()
        picked = await pick(self._database, self._tx, self._table, numbers, columns=self._wanted.columns)
        return tuple(picked[number] for number in numbers if number in picked)

    async def _told(self, stretch: _Stretch, keys: list[Key], place: Key | None) -> Found:
        """`keys`: of the rows to be shown, in their order; `place`: of the last one found, if the stretch has more of them."""
        has_rest = stretch.high < stretch.end if self._is_upwards else stretch.low > stretch.first
        on = self._going_on(stretch, place) if place is not None or has_rest else None
        back = self._going_back(stretch, keys) if self._begin else None
        is_cut = place is None and has_rest and (self._climbs or not self._is_upwards)
        looked = stretch.high - stretch.low
        if place is not None and self._wanted.is_by_number:
            looked = abs(place[-1] - (stretch.low if self._is_upwards else stretch.high))
        return Found(
            rows=await self._rows([key[-1] for key in keys]),
            after=back if self._is_back else on,
            before=on if self._is_back else back,
            looked=looked,
            reached=await self._found_at(stretch.low) if is_cut or not self._wanted.is_by_number else None,
            is_cut=is_cut,
        )

    def _going_on(self, stretch: _Stretch, place: Key | None) -> str:
        """Where the next page begins in the way this one looked."""
        if place is None:
            return token([stretch.high if self._is_upwards else stretch.low])
        if not self._wanted.is_by_number:
            return token([stretch.high, *place])
        return token([place[-1] + self._is_upwards])

    def _going_back(self, stretch: _Stretch, keys: list[Key]) -> str:
        """Where the page begins that lies on the other side of this one."""
        if not keys:
            return token(self._begin)
        nearest = keys[-1] if self._is_back else keys[0]
        if self._wanted.is_by_number:
            return token([nearest[-1] + (not self._is_upwards)])
        is_top = len(self._begin) == 1 and not self._is_back
        return token([stretch.high] if is_top else [stretch.high, *nearest])

    async def _found_at(self, number: int) -> datetime | None:
        time, number_of = _TIMES[self._wanted.what], self._number
        sql = f"select {time} as at from {self._table.tables} where {number_of} >= ? order by {number_of} limit 1"
        row = await self._tx.fetch_one(sql, number)
        return None if row is None else from_micros(row["at"])

    async def _stretch(self) -> _Stretch:
        """Which numbers this page looks through."""
        first, end = await self._bounds()
        begin = self._begin[0] if self._begin else None
        low, high = first, end
        if begin is not None:
            low, high = (max(begin, first), end) if self._climbs else (first, max(min(begin, end), first))
        far = await self._far(low, high)
        if self._climbs:
            return _Stretch(min(low, end), min(far, end), first, end)
        return _Stretch(max(far, first), high, first, end)

    async def _far(self, first: int, end: int) -> int:
        """How far this page may look: an index names all rows of an author, and the next ones with a hashtag."""
        if self._wanted.choice.users:
            return end if self._climbs else first
        if self._tags and not self._parts:
            return await self._far_by_tag(first, end)
        return first + self._wanted.stretch if self._climbs else end - self._wanted.stretch

    async def _far_by_tag(self, first: int, end: int) -> int:
        way = "asc" if self._climbs else "desc"
        row = await self._tx.fetch_one(
            f"select post_no from post_tags where tag {self._database.any('text')} and post_no >= ? and post_no < ? "
            f"order by post_no {way} limit 1 offset {max(self._wanted.stretch // _DEARER, 1)}",
            *(self._database.members(self._tags), first, end),
        )
        return (end if self._climbs else first) if row is None else int(row["post_no"]) + (not self._climbs)

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

    async def _numbers(self, where: Conditions, place: Sequence[int]) -> tuple[list[Key], Key | None]:
        """What is to be shown, each by what sorts it, and where the next page begins in the same stretch."""
        size, found = self._wanted.size, list[Key]()
        batch = _FIRST if self._parts else size + 1
        while len(found) <= size:
            columns = await self._batch(where, place, batch)
            if not columns:
                break
            keys = list(zip(*columns[: len(self._sorted_by)], strict=True))
            place = keys[-1]
            found += await self._having(keys, columns[len(place) :])
            if len(keys) < batch:
                break
            batch = min(batch * 4, _BATCH)
        shown = found[:size]
        return shown, shown[-1] if len(found) > size else None

    async def _batch(self, where: Conditions, place: Sequence[int], limit: int) -> Sequence[Sequence[Any]]:
        sign, way = (">", "asc") if self._is_upwards else ("<", "desc")
        by = self._sorted_by
        beyond = f" and ({', '.join(by)}) {sign} ({', '.join('?' * len(place))})" if place else ""
        texts = [self._table.columns[name] for name in self._table.words] if self._parts else []
        order = ", ".join(f"{each} {way}" for each in by)
        if self._wanted.what == "posts" and self._wanted.choice.users and self._wanted.is_by_number:
            order = by_number(self._number, way)
        select = f"select {', '.join([*by, *texts])} from {self._table.tables} where {where.sql}{beyond}"
        return await self._tx.fetch_columns(f"{select} order by {order} limit {limit}", *where.values, *place)

    async def _having(self, keys: list[Key], texts: Sequence[Sequence[Any]]) -> list[Key]:
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


async def count_matching(database: Database, wanted: Search, most: int = MOST_COUNTED) -> Matching:
    """How many rows a search finds in all, counted up to `most` and as far as one page looks."""
    whole = structs.replace(wanted, order=_NEWEST, after=None, before=None, size=most)
    async with database.reading() as tx:
        return await _Searcher(database, tx, whole).count()


def orders_of(what: str) -> tuple[str, ...]:
    """How rows of a kind can be sorted."""
    return (_NEWEST, _OLDEST, *TABLES[what].counters)
