"""What edges connect: accounts, of which only numbers are kept in memory and names are looked up, or hashtags."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.rows.cells import told_time
from bowerbird.reports.blocks.block import text
from bowerbird.reports.blocks.columns import Array, Column, Numbers
from bowerbird.reports.blocks.networks import Edges, NetworkReader

_TOGETHER = 10_000
_NOWHEN = np.iinfo(np.int64).min


class NetworkNode(Struct, frozen=True):
    """A node: an account, or a hashtag, which has neither handle nor network."""

    id: str
    handle: str | None = None
    network: str | None = None


class Edge(Struct, frozen=True):
    """Who is connected with whom, how often, and from when to when."""

    source: str
    target: str
    weight: int
    first: str | None
    last: str | None


class NodeNames(Protocol):
    """Makes rows of five numbers of edges, notes whom those that stay connect, and names their ends when all are known."""

    def numbered(self, edges: Edges) -> Array: ...

    def note(self, rows: Array) -> None:
        """These stay: their ends are nodes."""
        ...

    def nodes(self) -> AsyncIterator[Sequence[NetworkNode]]: ...

    async def named(self, edges: Array) -> list[Edge]:
        """Edges of accounts that asked not to be collected are left out."""
        ...


class AccountNodes:
    """Implements `NodeNames`; memory holds one byte for each number of an account."""

    def __init__(self, reader: NetworkReader, names: Pseudonyms | None = None) -> None:
        self._reader = reader
        self._names = names
        self._is_end = np.zeros(0, bool)

    def numbered(self, edges: Edges) -> Array:
        return _rows(_whole(edges.sources), _whole(edges.targets), edges)

    def note(self, rows: Array) -> None:
        missing = int(rows[:, :2].max(initial=-1)) + 1 - len(self._is_end)
        if missing > 0:
            self._is_end = np.append(self._is_end, np.zeros(missing, bool))
        self._is_end[rows[:, :2]] = True

    async def nodes(self) -> AsyncIterator[Sequence[NetworkNode]]:
        numbers = np.flatnonzero(self._is_end)
        for low in range(0, len(numbers), _TOGETHER):
            some = numbers[low : low + _TOGETHER]
            known = await self._reader.names(some.tolist())
            self._is_end[some] = np.isin(some, list(known))
            yield [self._told(*known[number]) for number in some.tolist() if number in known]

    async def named(self, edges: Array) -> list[Edge]:
        kept = edges[self._is_end[edges[:, 0]] & self._is_end[edges[:, 1]]]
        known = await self._reader.names(np.unique(kept[:, :2]).tolist())
        ids = {number: self._told(*each).id for number, each in known.items()}
        return [Edge(ids[source], ids[target], *_told(*rest)) for source, target, *rest in kept.tolist()]

    def _told(self, id_: str, handle: str | None, network: str) -> NetworkNode:
        if self._names is None:
            return NetworkNode(id_, handle, network)
        return NetworkNode(self._names.of_id(id_), None if handle is None else self._names.of_handle(handle), network)


class Tags:
    """Implements `NodeNames`; memory holds every hashtag."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def numbered(self, edges: Edges) -> Array:
        return _rows(self._numbers(edges.sources), self._numbers(edges.targets), edges)

    def note(self, rows: Array) -> None:
        """All that were numbered are nodes."""

    def _numbers(self, tags: Column) -> list[int]:
        return [self._places.setdefault(text(tag), len(self._places)) for tag in tags.listed()]

    async def nodes(self) -> AsyncIterator[Sequence[NetworkNode]]:
        yield [NetworkNode(f"#{tag}") for tag in self._places]

    async def named(self, edges: Array) -> list[Edge]:
        tags = list(self._places)
        return [Edge(f"#{tags[source]}", f"#{tags[target]}", *_told(*rest)) for source, target, *rest in edges.tolist()]


def _rows(sources: Array, targets: Array, edges: Edges) -> Array:
    return np.column_stack([sources, targets, _whole(edges.weights), _whole(edges.first), _whole(edges.last)])


def _whole(column: Column) -> Array:
    if not isinstance(column, Numbers):
        raise TypeError("a column of numbers is needed")
    return column.values if column.known is None else np.where(column.known, column.values, _NOWHEN)


def _told(weight: int, first: int, last: int) -> tuple[int, str | None, str | None]:
    return weight, _time(first), _time(last)


def _time(micros: int) -> str | None:
    return None if micros == _NOWHEN else told_time(from_micros(micros))
