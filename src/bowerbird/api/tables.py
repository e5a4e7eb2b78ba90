"""Chosen rows of a store, one by one or as a whole table for pandas, polars or Arrow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, Protocol

from bowerbird.api.loops import LoopThread
from bowerbird.db.moment import one_moment
from bowerbird.export.needed import needed
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.tables.arrow import batch, schema
from bowerbird.export.tables.plain import rows
from bowerbird.ports import Database
from bowerbird.reports.blocks.reading import BlockReader
from bowerbird.reports.blocks.selection.choosing import Choice
from bowerbird.reports.blocks.tables import TABLES
from bowerbird.reports.browsing.items import ItemReader

_AT_ONCE = 1_000
Time = datetime | date | str | None
"""A time, or a day; texts as `2026-05-01` or `2026-05-01T12:30`. Without a zone it is UTC."""


Several = str | Sequence[str] | None
"""One text or several, of which one must hold."""


class Opened(Protocol):
    """A store that is open."""

    loop: LoopThread
    database: Database


class Rows:
    """Rows of a store: dicts one by one, or a table with the columns of `bowerbird export` (docs/export.md). Nothing is read
    before it is asked for, and then of one moment. Tables, and whatever was chosen, have nothing that was deleted."""

    def __init__(self, data: Opened, what: str, choice: Choice, *, raw: bool = False) -> None:
        # The store stays open as long as somebody has rows of it.
        self._data = data
        self._loop = data.loop
        self._database = data.database
        self._shape = SHAPES[what]
        self._table = TABLES[what]
        self._choice = choice
        self._raw = raw

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """A batch is in memory at a time."""
        return self._loop.iterate(self._dicts())

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`."""
        return needed("pyarrow", "to_arrow").Table.from_batches(self._loop.run(self._batches()), schema(self._shape))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`."""
        needed("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A `polars.DataFrame`."""
        return needed("polars", "to_polars").from_arrow(self.to_arrow())

    async def _dicts(self) -> AsyncIterator[dict[str, Any]]:
        async with one_moment(self._database) as moment:
            items = ItemReader(moment)
            everything = {"posts": items.posts, "users": items.users}.get(self._table.name)
            chosen = self._follows if everything is None else self._numbered
            is_whole = everything is not None and self._choice == Choice()
            async for item in everything(self._raw) if everything is not None and is_whole else chosen(moment, items):
                yield item

    async def _numbered(self, moment: Database, items: ItemReader) -> AsyncIterator[dict[str, Any]]:
        look_up = items.posts_numbered if self._table.name == "posts" else items.users_numbered
        async for block in BlockReader(moment, self._table, self._choice, rows=_AT_ONCE).blocks():
            numbers = list(block.values("number"))
            found = await look_up(numbers, self._raw) if numbers else {}
            for number in numbers:
                yield found[number]

    async def _follows(self, moment: Database, items: ItemReader) -> AsyncIterator[dict[str, Any]]:
        async for block in BlockReader(moment, self._table, self._choice).blocks():
            for row in rows(self._shape, block) if block.rows else ():
                yield dict(zip(self._shape.names, row, strict=True))

    async def _batches(self) -> list[Any]:
        async with one_moment(self._database) as moment:
            blocks = BlockReader(moment, self._table, self._choice).blocks()
            return [batch(self._shape, block) async for block in blocks if block.rows]


def choice(*, since: Time = None, until: Time = None, lang: Several = None, user: Several = None, word: Several = None) -> Choice:
    """What the options of the API mean; each may be one text or several."""
    return Choice(since=_time(since), until=_time(until), languages=_several(lang), users=_several(user), words=_several(word))


def _several(given: Several) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _time(given: Time) -> datetime | None:
    if given is None:
        return None
    if isinstance(given, str):
        given = datetime.fromisoformat(given)
    if not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day, tzinfo=UTC)
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
