"""What is put into blocks besides their own columns: names of accounts and services, what hangs on posts, parts of documents.

Looked up for a whole block at once and remembered: a join would look up every row anew, and costs more than the row itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from bowerbird.model.subjects.telling import is_gone
from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Array, Column, Lists, Numbers, Repeated, Texts
from bowerbird.reports.blocks.fetching import fetch_packed

_REMEMBERED = 50_000
"""Names at most."""
_DENSE = 4
"""Of so many numbers one must be in a block, on average, for all of them to be read."""


class Fill(Protocol):
    """Puts columns into a block."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    @property
    def gives(self) -> tuple[str, ...]:
        """The columns it puts in, in the place of those of the same name."""
        ...

    @property
    def leaves_out(self) -> bool:
        """Whether rows go that nobody may be told of: then it is never done without."""
        ...

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

    async def of_column(self, tx: Transaction, column: Column) -> tuple[Array, list[tuple[Any, ...]]]:
        """For each row the place of what is known of its number."""
        numbers = _numbers(column)
        if numbers.known is not None:
            # No row is numbered so.
            numbers = Numbers(np.where(numbers.known, numbers.values, -1))
        different, places = np.unique(numbers.values, return_inverse=True)
        known = await self.of(tx, different.tolist())
        return places, [known[number] for number in different.tolist()]


class Names:
    """The id, handle and network of accounts, by number; rows of accounts that asked not to be collected are left out."""

    leaves_out = True

    def __init__(self, people: Remembered, column: str, *into: str) -> None:
        self.people = people
        self.needs = (column,)
        self.gives = into

    async def fill(self, tx: Transaction, block: Block) -> None:
        places, found = await self.people.of_column(tx, block.columns[self.needs[0]])
        alone, *told = zip(*(each or _NOBODY for each in found), strict=True)
        # Fewer names than there are to tell: the rest is not asked for.
        block.columns.update({into: Repeated(places, texts) for into, texts in zip(self.gives, told, strict=False)})
        if any(alone):
            block.keep(~np.array(alone, bool)[places])


_NOBODY = (1, None, None, None)


async def remember_names(tx: Transaction, block: Block, names: Sequence[Names]) -> None:
    """Looks up at once whom several of them will ask for; they share what they remember."""
    numbers = {number for each in names for number in _numbers(block.columns[each.needs[0]]).listed()}
    await names[0].people.of(tx, numbers)


def people(database: Database, *, with_gone: bool = False) -> Remembered:
    """Whether accounts asked not to be collected, their ids, handles and networks; `with_gone`: also handles of those that the
    public can no longer see, where they are kept."""
    handle = "u.handle" if with_gone else f"case when {is_gone('u')} then null else u.handle end"
    return Remembered(
        database, f"select u.user_no, coalesce(u.opts_out, 0), u.id, {handle}, u.network from users u where u.user_no {{several}}"
    )


class Services:
    """The service that was asked, by the call that first brought a row."""

    gives = ("service",)
    leaves_out = False

    def __init__(self, database: Database, column: str) -> None:
        self.needs = (column,)
        self._calls = Remembered(
            database,
            "select c.call, s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service "
            "where c.call {several}",
        )

    async def fill(self, tx: Transaction, block: Block) -> None:
        places, found = await self._calls.of_column(tx, block.columns[self.needs[0]])
        block.columns["service"] = Repeated(places, [each[0] if each else None for each in found])


class Parts:
    """What hangs on posts, as lists: rows of another table, those between the first and the last number of a block, or, where
    the block has only a few of these, by number."""

    needs = ("number",)
    leaves_out = False

    def __init__(self, database: Database, into: str, sql: str) -> None:
        self._database = database
        self.gives = (into,)
        self._between = sql.format(which="between ? and ?")
        self._numbered = sql.format(which=database.any("bigint"))

    def asked(self, numbers: list[int]) -> tuple[str, Sequence[Any]]:
        """The question after what hangs on a few rows."""
        return self._numbered, (self._database.members(numbers),)

    async def fill(self, tx: Transaction, block: Block) -> None:
        numbers = _numbers(block.columns["number"]).values
        first, last = int(numbers[0]), int(numbers[-1])
        is_dense = last - first < _DENSE * len(numbers)
        sql, asked = (self._between, (first, last)) if is_dense else (self._numbered, (self._database.members(numbers.tolist()),))
        found = await fetch_packed(self._database, tx, sql, ("number", "text"), *asked)
        block.columns[self.gives[0]] = _grouped(numbers, *found) if found else Lists.empty(len(numbers))


class PartsOfFew:
    """Several parts of a few rows, asked for at once."""

    needs = ("number",)
    leaves_out = False

    def __init__(self, parts: Sequence[Parts]) -> None:
        self._parts = parts
        self.gives = tuple(name for part in parts for name in part.gives)

    async def fill(self, tx: Transaction, block: Block) -> None:
        numbers = [int(number) for number in _numbers(block.columns["number"]).values]
        for name, rows in zip(self.gives, await tx.fetch_all([part.asked(numbers) for part in self._parts]), strict=True):
            texts: dict[int, list[str]] = {number: [] for number in numbers}
            for row in rows:
                texts[row["post_no"]].append(row["told"])
            block.columns[name] = Lists.of(list(texts.values()))


def _grouped(numbers: Array, owners: Column, texts: Column) -> Lists:
    """Texts by the rows they belong to; those of no row of the block are left out. Both are in the order of numbers."""
    theirs = _numbers(owners).values
    is_ours = np.isin(theirs, numbers)
    bounds = np.append(np.searchsorted(theirs[is_ours], numbers), is_ours.sum()).astype(np.int32)
    return Lists(bounds, _texts(texts) if is_ours.all() else _texts(texts).kept(is_ours))


class Documents:
    """A column of JSON lists, as lists."""

    leaves_out = False

    def __init__(self, column: str) -> None:
        self.needs = self.gives = (column,)

    async def fill(self, tx: Transaction, block: Block) -> None:
        (name,) = self.needs
        documents = _texts(block.columns[name])
        if len(documents.content):
            told = [() if each is None else [str(part) for part in msgspec.json.decode(each)] for each in documents.listed()]
            block.columns[name] = Lists.of(told)
        else:
            block.columns[name] = Lists.empty(len(documents))


class Places:
    """The name, country and point of a post's place."""

    needs = ("place",)
    gives = ("place", "country", "longitude", "latitude")
    leaves_out = False

    async def fill(self, tx: Transaction, block: Block) -> None:
        places = _texts(block.columns["place"])
        told = [{} if each is None else msgspec.json.decode(each) for each in places.listed()] if len(places.content) else None
        for name, field in (("place", "name"), ("country", "country"), ("longitude", "longitude"), ("latitude", "latitude")):
            block.columns[name] = _part(told, field) if told else Texts.unknown(len(places))


def _part(documents: list[dict[str, Any]], field: str) -> Column:
    values = [each.get(field) for each in documents]
    return Numbers.of(values, are_whole=False) if field in ("longitude", "latitude") else Texts.of(values)


def _numbers(column: Column) -> Numbers:
    if not isinstance(column, Numbers):
        raise TypeError("a column of numbers is needed")
    return column


def _texts(column: Column) -> Texts:
    if not isinstance(column, Texts):
        raise TypeError("a column of texts is needed")
    return column
