"""Some rows of a table by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from bowerbird.reports.blocks.columns import Array, Column, Lists, Texts
from bowerbird.reports.texts import plain

Key = tuple[Any, ...]
"""Of one row: the next block begins after it."""


class Block(Struct):
    """Rows in the order of their keys; columns may be taken away and put in."""

    rows: int
    columns: dict[str, Column]
    keys: tuple[Column, ...]
    """What orders the rows, by columns."""
    last: Key
    """Where the next block begins, whether this one has rows left or not."""

    def values(self, name: str) -> list[Any]:
        """One for each row: texts as `str` or as bytes of UTF-8, times as microseconds, None for what is not known."""
        return self.columns[name].listed()

    def keep(self, is_kept: Sequence[bool] | Array) -> None:
        """Leaves out the rows of which it is not said that they are kept."""
        kept = np.asarray(is_kept, dtype=bool)
        if kept.all():
            return
        self.columns = {name: column.kept(kept) for name, column in self.columns.items()}
        self.keys = tuple(column.kept(kept) for column in self.keys)
        self.rows = int(kept.sum())

    def cut(self, rows: int) -> tuple[Block, Block]:
        """The first so many rows, and the others."""
        is_first = np.arange(self.rows) < rows
        first = Block(self.rows, self.columns, self.keys, self.key(rows - 1))
        others = Block(self.rows, self.columns, self.keys, self.last)
        first.keep(is_first)
        others.keep(~is_first)
        return first, others

    def key(self, row: int) -> Key:
        return tuple(plain(column.listed()[row]) for column in self.keys)

    def change(self, name: str, change: Callable[[Any], str]) -> None:
        """Puts something else in the place of every text that is known; in lists of every part."""
        column = self.columns[name]
        if isinstance(column, Lists):
            self.columns[name] = Lists(column.bounds, _changed(column.texts, change))
        else:
            self.columns[name] = _changed(column, change)


def _changed(column: Column, change: Callable[[Any], str]) -> Texts:
    return Texts.of([None if value is None else change(value) for value in column.listed()])


def text(value: Any) -> str:
    """A text, however the database gave it."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
