"""Where walks begin, and where they jump to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from math import ceil
from zlib import crc32

from bowerbird.policies.moments import lot
from bowerbird.policies.walking import Walker


class Start:
    """Shares the walkers out among the seeds: several at each if seeds are few, at some of them if they are many."""

    def __init__(self, walkers: int, seeds: Sequence[str] = (), others: int = 0, *, seed: int = 0) -> None:
        """`others`: how many seeds there are whose keys are not known yet."""
        self._seeds = seeds
        self._seed = seed
        self._each = ceil(walkers / max(len(seeds) + others, 1))
        is_many = len(seeds) > walkers
        self._chosen = frozenset(nsmallest(walkers, seeds, key=lambda key: lot(seed, "start", key))) if is_many else None

    def walkers_at(self, target: str) -> list[Walker]:
        if self._chosen is not None and target not in self._chosen:
            return []
        first = crc32(target.encode("utf-8", "replace")) << 8
        return [Walker(first + number) for number in range(self._each)]

    def anywhere(self, walker: Walker) -> str:
        """The seed that a walker jumps to: any of them, all alike."""
        return self._seeds[int(lot(self._seed, "anywhere", walker.number, walker.step) * len(self._seeds))]
