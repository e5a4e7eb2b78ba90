"""Where walks begin, and where they jump to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from bowerbird.policies.graph_walks.walking import Walker
from bowerbird.policies.moments import lot


class Start:
    """Shares the walkers out among the seeds: several at each if seeds are few, at some of them if they are many."""

    def __init__(self, walkers: int, seeds: Sequence[str] = (), others: int = 0, *, seed: int = 0) -> None:
        """`others`: how many seeds there are whose keys are not known yet."""
        self._seeds = seeds
        self._seed = seed
        self._others = others
        self._each, self._more = divmod(walkers, max(len(seeds) + others, 1))
        drawn = sorted(seeds, key=lambda key: lot(seed, "start", key))
        self._turns = {key: turn for turn, key in enumerate(drawn)}

    def walkers_at(self, target: str) -> list[Walker]:
        first = crc32(target.encode("utf-8", "replace")) << 8
        return [Walker(first + number) for number in range(self._each + (self._turn(target) < self._more))]

    def _turn(self, target: str) -> int:
        """Where the share does not come out even, those whose turn is early start one more; the others come as they are found.

        Not kept: a crawl that is killed while handles are looked up may start a walker or two too many.
        """
        return self._turns.setdefault(target, len(self._turns)) if self._others else self._turns.get(target, self._more)

    def anywhere(self, walker: Walker) -> str:
        """The seed that a walker jumps to: any of them, all alike."""
        return self._seeds[int(lot(self._seed, "anywhere", walker.number, walker.step) * len(self._seeds))]
