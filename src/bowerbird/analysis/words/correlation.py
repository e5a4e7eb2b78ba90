"""How two series go together: Pearson's and Spearman's correlation, at several lags, with intervals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import atanh, sqrt, tanh

from msgspec import Struct

_Z = 1.959964
"""For 95 % intervals."""
LEAST = 4
"""Pairs of numbers below which an interval means nothing."""
FEW = 10
"""Pairs of numbers below which nobody can tell whether two series go together."""


class Coefficient(Struct, frozen=True):
    """A correlation with its 95 % interval by Fisher's transformation."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Where all pairs are on one line the formula gives no width, which says nothing of how sure it is."""
        return self.low < self.high

    @property
    def words(self) -> str:
        """What it means, for somebody who knows no statistics."""
        if not self.has_interval:
            return "perfect on these pairs, so that no interval can be told"
        if self.low <= 0 <= self.high:
            return f"may be chance: anything from {plain(self.low)} to {plain(self.high)} would fit these numbers"
        how = next(word for least, word in _HOW if abs(self.value) >= least)
        way = "both rise together" if self.value > 0 else "one falls when the other rises"
        return f"{how}: {way}; with 95 % certainty it lies between {plain(self.low)} and {plain(self.high)}"


def plain(value: float) -> str:
    """Two places, and no minus before nothing."""
    return f"{round(value, 2) + 0.0:.2f}"


_HOW = ((0.7, "very strong"), (0.5, "strong"), (0.3, "moderate"), (0.0, "weak"))


class Lagged(Struct, frozen=True, kw_only=True):
    """Both correlations where the second series is taken so many stretches later than the first."""

    lag: int
    pairs: int
    pearson: Coefficient | None
    """None: fewer than four pairs, or one of the series never changes."""
    spearman: Coefficient | None

    @property
    def words(self) -> str:
        """What Pearson's means, or that there is too little to tell."""
        if self.pearson is None:
            return "one of the two never changes, or there are fewer than four pairs"
        if self.pairs < FEW:
            return f"too few to tell: {self.pairs} pairs, and fewer than {FEW} give any number by chance"
        return self.pearson.words


class Strongest(Struct, frozen=True, kw_only=True):
    """The correlation that is farthest from none, of many."""

    measure: str
    lag: int
    pairs: int
    value: float
    tried: int
    """How many it was chosen from."""

    @property
    def words(self) -> str:
        few = f", from only {self.pairs} pairs" if self.pairs < FEW else ""
        return f"{self.measure}, at lag {self.lag}{few}; the best of so many is high by chance alone, and proves nothing"


def correlations(first: Mapping[int, float], second: Mapping[int, float], most: int) -> list[Lagged]:
    """For every lag from `-most` to `most`, by places in time: at lag 1 today's first goes with tomorrow's second."""
    return [_lagged(first, second, lag) for lag in range(-most, most + 1)]


def at_no_lag(found: Sequence[Lagged]) -> Lagged | None:
    return next((each for each in found if each.lag == 0), None)


def strongest(found: Mapping[str, Sequence[Lagged]]) -> Strongest | None:
    """Of all measures at all lags the one farthest from none; of several the one with the smallest lag."""
    told = [
        (f"{name}, {method}", each, coefficient.value)
        for name, lags in found.items()
        for each in lags
        for method, coefficient in (("Pearson", each.pearson), ("Spearman", each.spearman))
        if coefficient is not None
    ]
    if not told:
        return None
    measure, each, value = max(told, key=lambda one: (abs(one[2]), -abs(one[1].lag)))
    return Strongest(measure=measure, lag=each.lag, pairs=each.pairs, value=value, tried=len(told))


def _lagged(first: Mapping[int, float], second: Mapping[int, float], lag: int) -> Lagged:
    places = [place for place in sorted(first) if place + lag in second]
    ones, others = [first[place] for place in places], [second[place + lag] for place in places]
    return Lagged(lag=lag, pairs=len(places), pearson=pearson(ones, others), spearman=spearman(ones, others))


def pearson(ones: Sequence[float], others: Sequence[float]) -> Coefficient | None:
    value = _pearson(ones, others)
    return None if value is None else _with_interval(value, len(ones), 1.0)


def spearman(ones: Sequence[float], others: Sequence[float]) -> Coefficient | None:
    value = _pearson(ranks(ones), ranks(others))
    # Bonett and Wright: ranks vary a little more than numbers do.
    return None if value is None else _with_interval(value, len(ones), sqrt(1 + value * value / 2))


def _pearson(ones: Sequence[float], others: Sequence[float]) -> float | None:
    n = len(ones)
    if n < LEAST:
        return None
    mean, other_mean = sum(ones) / n, sum(others) / n
    above, other_above = [one - mean for one in ones], [other - other_mean for other in others]
    spread = sqrt(sum(each * each for each in above)) * sqrt(sum(each * each for each in other_above))
    if spread == 0:
        return None
    return max(-1.0, min(1.0, sum(one * other for one, other in zip(above, other_above, strict=True)) / spread))


def _with_interval(value: float, n: int, widening: float) -> Coefficient:
    if abs(value) >= 1 - 1e-12:
        return Coefficient(round(value, 4), round(value, 4), round(value, 4))
    room = _Z * widening / sqrt(n - 3)
    middle = atanh(value)
    return Coefficient(round(value, 4), round(tanh(middle - room), 4), round(tanh(middle + room), 4))


def ranks(values: Sequence[float]) -> list[float]:
    """Places in order from 1; equal values share the mean of their places."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    found = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end + 1 < len(order) and values[order[end + 1]] == values[order[begin]]:
            end += 1
        for place in order[begin : end + 1]:
            found[place] = (begin + end) / 2 + 1
        begin = end + 1
    return found
