"""How alike two courses of traffic are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from bowerbird.policies.keywords.values import Frame


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one of the two never changes, for then nothing can be said."""
    size = len(one)
    if size < 2:
        return 0.0
    middle, other_middle = sum(one) / size, sum(other) / size
    apart = [(left - middle, right - other_middle) for left, right in zip(one, other, strict=True)]
    spread = sum(left * left for left, _ in apart) * sum(right * right for _, right in apart)
    return sum(left * right for left, right in apart) / sqrt(spread) if spread > 0 else 0.0


class Courses:
    """The traffic of the terms of one frame, compared pair by pair; no pair is reckoned twice."""

    def __init__(self, frame: Frame) -> None:
        self._counts: Mapping[str, Sequence[int]] = frame.counts
        self.slots = len(frame.posts)
        self._known: dict[tuple[str, str], float] = {}

    def between(self, one: str, other: str) -> float:
        pair = (one, other) if one < other else (other, one)
        if pair not in self._known:
            left, right = self._counts.get(one), self._counts.get(other)
            self._known[pair] = pearson(left, right) if left and right else 0.0
        return self._known[pair]

    def most(self, term: str, others: Sequence[str]) -> tuple[float, str]:
        """The highest correlation with one of these, and with which."""
        return max(((self.between(term, other), other) for other in others if other != term), default=(0.0, ""))
