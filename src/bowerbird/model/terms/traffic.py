"""How alike the traffic of two terms is."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one of the two never changes, for then nothing can be said."""
    size = len(one)
    if size < 2:
        return 0.0
    middle, other_middle = sum(one) / size, sum(other) / size
    apart = [(left - middle, right - other_middle) for left, right in zip(one, other, strict=True)]
    spread = sum(left * left for left, _ in apart) * sum(right * right for _, right in apart)
    return sum(left * right for left, right in apart) / sqrt(spread) if spread > 0 else 0.0
