"""Some rows of a table by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, compress, pairwise
from typing import Any

from msgspec import Struct

Values = Sequence[Any]
"""Of one column: texts as `str` or as bytes of UTF-8, times as microseconds, flags as 0 and 1, None for what is not known."""
Key = tuple[Any, ...]
"""Of one row: the next block begins after it."""


class Lists(Struct, frozen=True):
    """A list of texts for each row: that of row n is `values[bounds[n]:bounds[n + 1]]`."""

    bounds: Sequence[int]
    values: Values

    @classmethod
    def of(cls, lists: Sequence[Values]) -> Lists:
        return cls([0, *accumulate(map(len, lists))], [value for each in lists for value in each])

    def each(self) -> list[Values]:
        return [self.values[low:high] for low, high in pairwise(self.bounds)]


class Block(Struct):
    """Rows in the order of their keys; columns may be taken away and put in."""

    rows: int
    columns: dict[str, Values | Lists]
    keys: tuple[Values, ...]
    """What orders the rows, by columns."""
    last: Key
    """Where the next block begins, whether this one has rows left or not."""

    def values(self, name: str) -> Values:
        column = self.columns[name]
        if isinstance(column, Lists):
            raise TypeError(f"{name} has a list for each row")
        return column

    def keep(self, is_kept: Sequence[bool]) -> None:
        """Leaves out the rows of which it is not said that they are kept."""
        if all(is_kept):
            return
        self.columns = {name: _kept(column, is_kept) for name, column in self.columns.items()}
        self.keys = tuple(list(compress(column, is_kept)) for column in self.keys)
        self.rows = sum(is_kept)

    def cut(self, rows: int) -> tuple[Block, Block]:
        """The first so many rows, and the others."""
        places = [n < rows for n in range(self.rows)]
        first = Block(self.rows, self.columns, self.keys, tuple(plain(column[rows - 1]) for column in self.keys))
        others = Block(self.rows, self.columns, self.keys, self.last)
        first.keep(places)
        others.keep([not each for each in places])
        return first, others

    def change(self, name: str, change: Callable[[Any], Any]) -> None:
        """Puts something else in the place of every value that is known; in lists of every part."""
        column = self.columns[name]
        if isinstance(column, Lists):
            self.columns[name] = Lists(column.bounds, [change(value) for value in column.values])
        else:
            self.columns[name] = [None if value is None else change(value) for value in column]


def _kept(column: Values | Lists, is_kept: Sequence[bool]) -> Values | Lists:
    if isinstance(column, Lists):
        return Lists.of(list(compress(column.each(), is_kept)))
    return list(compress(column, is_kept))


def text(value: Any) -> str:
    """A text, however the database gave it."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def plain(value: Any) -> Any:
    """A part of a key in the form in which it is asked with and written down."""
    return value.decode() if isinstance(value, bytes) else value
