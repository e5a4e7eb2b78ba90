"""What is put into blocks besides their own columns: names of accounts and services, what hangs on posts, parts of documents.

Looked up for a whole block at once and remembered: a join would look up every row anew, and costs more than the row itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import Block, Lists

_REMEMBERED = 200_000
"""Names at most."""
_DENSE = 4
"""Of so many numbers one must be in a block, on average, for all of them to be read."""


class Fill(Protocol):
    """Puts columns into a block."""

    async def fill(self, tx: Transaction, block: Block) -> None: ...


class Remembered:
    """Rows by number, looked up once each as long as there is room."""

    def __init__(self, database: Database, sql: str) -> None:
        self._database = database
        self._sql = sql.format(several=database.any("bigint"))
        self._known: dict[int | None, tuple[Any, ...]] = {}

    async def of(self, tx: Transaction, numbers: Iterable[int | None]) -> Mapping[int | None, tuple[Any, ...]]:
        """What is known of these; every one has an entry, the unknown an empty one."""
        wanted = set(numbers)
        if len(self._known) > _REMEMBERED:
            self._known = {}
        missing = wanted - self._known.keys()
        if missing:
            asked = [number for number in missing if number is not None]
            found = await tx.fetch_columns(self._sql, self._database.members(asked))
            self._known.update(dict.fromkeys(missing, ()))
            if found:
                self._known.update(zip(found[0], zip(*found[1:], strict=True), strict=True))
        return self._known


class Names:
    """The id, handle and network of accounts, by number; rows of accounts that asked not to be collected are left out."""

    def __init__(self, people: Remembered, column: str, *into: str) -> None:
        self._people = people
        self._column = column
        self._into = into

    async def fill(self, tx: Transaction, block: Block) -> None:
        numbers = block.values(self._column)
        known = await self._people.of(tx, numbers)
        alone, *told = zip(*(known[number] or _NOBODY for number in numbers), strict=True)
        # Fewer names than there are to tell: the rest is not asked for.
        block.columns.update(zip(self._into, told, strict=False))
        if any(alone):
            block.keep([not each for each in alone])


_NOBODY = (1, None, None, None)


def people(database: Database) -> Remembered:
    """Whether accounts asked not to be collected, their ids, handles and networks."""
    return Remembered(database, "select user_no, coalesce(opts_out, 0), id, handle, network from users where user_no {several}")


class Services:
    """The service that was asked, by the call that first brought a row."""

    def __init__(self, database: Database, column: str) -> None:
        self._column = column
        self._calls = Remembered(
            database,
            "select c.call, s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service "
            "where c.call {several}",
        )

    async def fill(self, tx: Transaction, block: Block) -> None:
        calls = block.values(self._column)
        known = await self._calls.of(tx, calls)
        block.columns["service"] = [found[0] if (found := known[call]) else None for call in calls]


class Parts:
    """What hangs on posts, as lists: rows of another table, those between the first and the last number of a block, or, where
    the block has only a few of these, by number."""

    def __init__(self, database: Database, into: str, sql: str) -> None:
        self._database = database
        self._into = into
        self._between = sql.format(which="between ? and ?")
        self._numbered = sql.format(which=database.any("bigint"))

    async def fill(self, tx: Transaction, block: Block) -> None:
        numbers = np.array(block.values("number"), dtype=np.int64)
        first, last = int(numbers[0]), int(numbers[-1])
        if last - first < _DENSE * len(numbers):
            found = await tx.fetch_columns(self._between, first, last)
        else:
            found = await tx.fetch_columns(self._numbered, self._database.members(block.values("number")))
        owners, values = found or ((), ())
        block.columns[self._into] = _grouped(numbers, owners, values)


def _grouped(numbers: Any, owners: Sequence[int], values: Sequence[Any]) -> Lists:
    """Values by the rows they belong to; those of no row of the block are left out. Both are in the order of numbers."""
    if not len(owners):
        return Lists([0] * (len(numbers) + 1), ())
    ours = np.array(owners, dtype=np.int64)
    is_ours = np.isin(ours, numbers)
    bounds = [*np.searchsorted(ours[is_ours], numbers).tolist(), int(is_ours.sum())]
    return Lists(bounds, values if is_ours.all() else [values[place] for place in np.flatnonzero(is_ours).tolist()])


class Documents:
    """Columns of JSON lists, as lists."""

    def __init__(self, *columns: str) -> None:
        self._columns = columns

    async def fill(self, tx: Transaction, block: Block) -> None:
        for name in self._columns:
            column = block.values(name)
            if column.count(None) == len(column):
                block.columns[name] = Lists([0] * (len(column) + 1), ())
            else:
                block.columns[name] = Lists.of([() if each is None else _texts(each) for each in column])


class Places:
    """The name, country and point of a post's place."""

    async def fill(self, tx: Transaction, block: Block) -> None:
        column = block.values("place")
        told = [{} if each is None else msgspec.json.decode(each) for each in column] if any(column) else None
        for name, field in (("place", "name"), ("country", "country"), ("longitude", "longitude"), ("latitude", "latitude")):
            block.columns[name] = [each.get(field) for each in told] if told else (None,) * len(column)


def _texts(document: bytes | str) -> list[str]:
    return [str(each) for each in msgspec.json.decode(document)]
