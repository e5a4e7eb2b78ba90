"""How certain a share is that was counted in a sample."""

from __future__ import annotations

from math import sqrt

_QUANTILE = 1.96


def interval(hits: int, of: int) -> tuple[float, float]:
    """The bounds of a share with 95 % (Wilson's score interval); everything is possible where nothing was seen."""
    if of == 0:
        return 0.0, 1.0
    share, extra = hits / of, _QUANTILE**2 / of
    middle, half = share + extra / 2, _QUANTILE * sqrt(share * (1 - share) / of + extra / (4 * of))
    return max(0.0, (middle - half) / (1 + extra)), min(1.0, (middle + half) / (1 + extra))
