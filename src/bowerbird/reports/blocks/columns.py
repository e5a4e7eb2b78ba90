"""Values of one column of many rows, packed: nobody makes an object of every value, and Arrow takes them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np
from msgspec import Struct

Array = Any
"""Of numpy, which has no types for what is in one that are worth writing."""


class Texts(Struct, frozen=True):
    """UTF-8 one behind the other: row n has `content[bounds[n]:bounds[n + 1]]`."""

    content: bytes
    bounds: Array
    known: Array | None = None
    """Which rows have a value; None: all. Those without are empty."""

    @classmethod
    def of(cls, values: Sequence[str | bytes | None]) -> Texts:
        parts = [b"" if value is None else value if isinstance(value, bytes) else value.encode() for value in values]
        known = None if None not in values else np.fromiter((value is not None for value in values), bool, len(parts))
        return cls(b"".join(parts), _bounds(np.fromiter(map(len, parts), np.int32, len(parts))), known)

    @classmethod
    def unknown(cls, rows: int) -> Texts:
        return cls(b"", np.zeros(rows + 1, np.int32), np.zeros(rows, bool))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def listed(self) -> list[bytes | None]:
        parts = [self.content[low:high] for low, high in pairwise(self.bounds.tolist())]
        if self.known is None:
            return list(parts)
        return [part if is_known else None for part, is_known in zip(parts, self.known.tolist(), strict=True)]

    def kept(self, is_kept: Array) -> Texts:
        """Rows that follow each other are copied together."""
        edges = np.flatnonzero(np.diff(is_kept, prepend=False, append=False))
        cuts = self.bounds[edges].tolist()
        content = b"".join([self.content[low:high] for low, high in zip(cuts[::2], cuts[1::2], strict=True)])
        return Texts(content, _bounds(np.diff(self.bounds)[is_kept]), None if self.known is None else self.known[is_kept])


class Numbers(Struct, frozen=True):
    """Whole numbers (times are microseconds, flags 0 and 1), or fractions."""

    values: Array
    known: Array | None = None

    @classmethod
    def of(cls, values: Sequence[float | None], *, are_whole: bool = True) -> Numbers:
        kind = np.int64 if are_whole else np.float64
        if None not in values:
            return cls(np.array(values, kind))
        known = np.fromiter((value is not None for value in values), bool, len(values))
        return cls(np.array([0 if value is None else value for value in values], kind), known)

    @classmethod
    def unknown(cls, rows: int) -> Numbers:
        return cls(np.zeros(rows, np.int64), np.zeros(rows, bool))

    def __len__(self) -> int:
        return len(self.values)

    def listed(self) -> list[Any]:
        values: list[Any] = self.values.tolist()
        if self.known is None:
            return values
        return [value if is_known else None for value, is_known in zip(values, self.known.tolist(), strict=True)]

    def kept(self, is_kept: Array) -> Numbers:
        return Numbers(self.values[is_kept], None if self.known is None else self.known[is_kept])


class Repeated(Struct, frozen=True):
    """A few texts that many rows have: row n has `texts[places[n]]`."""

    places: Array
    texts: Sequence[str | bytes | None]

    def __len__(self) -> int:
        return len(self.places)

    def listed(self) -> list[Any]:
        return [self.texts[place] for place in self.places.tolist()]

    def kept(self, is_kept: Array) -> Repeated:
        return Repeated(self.places[is_kept], self.texts)


class Lists(Struct, frozen=True):
    """A list of texts for each row: row n has those from `bounds[n]` to `bounds[n + 1]`."""

    bounds: Array
    texts: Texts

    @classmethod
    def of(cls, lists: Sequence[Sequence[str | bytes]]) -> Lists:
        lengths = np.fromiter(map(len, lists), np.int32, len(lists))
        return cls(_bounds(lengths), Texts.of([value for each in lists for value in each]))

    @classmethod
    def empty(cls, rows: int) -> Lists:
        return cls(np.zeros(rows + 1, np.int32), Texts.unknown(0))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def listed(self) -> list[list[Any]]:
        texts: list[Any] = self.texts.listed()
        return [texts[low:high] for low, high in pairwise(self.bounds.tolist())]

    def kept(self, is_kept: Array) -> Lists:
        return Lists.of(list(compress(self.listed(), is_kept))) if len(self.texts) else Lists.empty(int(is_kept.sum()))


Column = Texts | Numbers | Repeated | Lists


def _bounds(lengths: Array) -> Array:
    bounds = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=bounds[1:])
    return bounds
