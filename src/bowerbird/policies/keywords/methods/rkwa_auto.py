"""`rkwa_auto`: RKwA that chooses its thresholds itself in every frame, as its authors wished for."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt, tanh
from statistics import NormalDist

from bowerbird.policies.keywords.correlation import Courses
from bowerbird.policies.keywords.methods.rkwa import Rkwa, Thresholds

_CHANCE = 0.05
"""How many candidates of a frame may be retained by chance, on average."""
_HIGHEST = 0.99


class RkwaAuto(Rkwa):
    """The threshold of a frame is what chance alone would not reach among so many comparisons of so few slots, or, if that is
    higher, where the candidates' correlations fall best into two groups."""

    name = "rkwa_auto"

    def __init__(self, reading: str = "prose") -> None:
        super().__init__(reading=reading)

    def thresholds(self, pool: Sequence[str], seeds: Sequence[str], courses: Courses) -> Thresholds:
        slots = courses.slots
        seed = max(beyond_chance(len(pool) * len(seeds), slots), split([courses.most(term, seeds)[0] for term in pool]))
        # Members are many, and each is another chance to be like one of them.
        member = max(seed, beyond_chance(len(pool) * (len(pool) - 1), slots))
        return Thresholds(seed, member)


def beyond_chance(comparisons: int, slots: int) -> float:
    """The correlation that at most one of twenty frames reaches by chance with so many comparisons (Fisher's z)."""
    if slots < 4:
        return _HIGHEST
    deviation = NormalDist().inv_cdf(1 - _CHANCE / max(1, comparisons)) / sqrt(slots - 3)
    return min(_HIGHEST, tanh(deviation))


def split(values: Sequence[float]) -> float:
    """The value between two groups that differ most from each other and least within (Otsu's method); 0 where there are none."""
    ranked = sorted(values)
    best, at = 0.0, 0.0
    total = sum(ranked)
    below = 0.0
    for size, value in enumerate(ranked[:-1], 1):
        below += value
        apart = below / size - (total - below) / (len(ranked) - size)
        worth = size * (len(ranked) - size) * apart * apart
        if worth > best:
            best, at = worth, (value + ranked[size]) / 2
    return at
