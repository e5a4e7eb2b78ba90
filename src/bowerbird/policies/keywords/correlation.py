"""How alike two courses of traffic are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bowerbird.model.terms.traffic import pearson
from bowerbird.policies.keywords.values import Frame


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
