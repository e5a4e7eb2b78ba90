"""A part of the rows, chosen by chance and by nothing else: the same seed chooses the same rows, whatever else is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import blake2b
from typing import Any

import numpy as np

from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.tables import Table

_ALL = 1 << 64


class RowSample:
    """Rows whose number in a lottery of all ids is below a limit."""

    def __init__(self, seed: int, limit: int = _ALL) -> None:
        self._key = seed.to_bytes(8, "big", signed=True)
        self._limit = limit

    @classmethod
    def share(cls, part: float, seed: int) -> RowSample:
        return cls(seed, round(part * _ALL))

    @classmethod
    async def of_size(cls, rows: int, seed: int, table: Table, blocks: AsyncIterator[Block]) -> RowSample:
        """So many of all these rows; they are read once to find the limit, and memory holds twice as many numbers."""
        everyone = cls(seed)
        lowest = np.empty(0, dtype=np.uint64)
        async for block in blocks:
            lowest = np.concatenate([lowest, np.array(everyone.numbers(table, block), dtype=np.uint64)])
            if len(lowest) > max(2 * rows, 100_000):
                lowest = np.partition(lowest, rows)[:rows]
        if len(lowest) <= rows:
            return everyone
        return cls(seed, int(np.partition(lowest, rows)[rows]))

    def chosen(self, table: Table, block: Block) -> list[bool]:
        return [number < self._limit for number in self.numbers(table, block)]

    def numbers(self, table: Table, block: Block) -> list[int]:
        names = [name for name in _NAMED[table.name] if name in block.columns]
        rows: Any = zip(*(block.values(name) for name in names), strict=True)
        return [self._number(b"\0".join(each if isinstance(each, bytes) else str(each).encode() for each in row)) for row in rows]

    def _number(self, name: bytes) -> int:
        return int.from_bytes(blake2b(name, digest_size=8, key=self._key).digest(), "big")


_NAMED = {
    "posts": ("id",),
    "users": ("id",),
    "follows": ("source_id", "target_id"),
    "reactions": ("post_id", "kind", "user_id"),
    "media": ("post_id", "id", "url"),
    "judgements": ("judge", "subject", "id", "value"),
    "calls": ("call",),
    "keywords": ("crawl", "method", "term", "since"),
    "candidates": ("crawl", "id"),
    "labels": ("crawl", "judge", "id", "who"),
    "module_runs": ("run",),
    "growth": ("name", "at"),
}
"""What names a row of each table, for ever."""
