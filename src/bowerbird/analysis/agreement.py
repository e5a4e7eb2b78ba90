"""Evaluate labels that people gave: shares with intervals, majorities, and agreement beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

from msgspec import Struct

YES, NO, UNSURE = "yes", "no", "unsure"
LABELS = (YES, NO, UNSURE)
_Z = 1.959964
"""For 95 % intervals."""

LabelsByPerson = Mapping[str, str]
"""The label that each person gave to one account."""


class Share(Struct, frozen=True):
    """A share with its 95 % interval."""

    hits: int
    of: int
    share: float | None
    low: float
    high: float


class Agreement(Struct, frozen=True):
    """The agreement of several people on the same accounts."""

    people: int
    accounts: int
    """Accounts with labels by more than one person."""
    alike: float
    """The share of pairs of labels that agree."""
    kappa: float | None
    """Agreement beyond chance, at most 1: Cohen's for two people, Fleiss' for more; None if all labels are equal."""


def wilson_share(hits: int, of: int) -> Share:
    """Return a share with Wilson's interval, which is not empty at 0 and 1."""
    if not of:
        return Share(0, 0, None, 0.0, 1.0)
    return Share(hits, of, round(hits / of, 4), *wilson_interval(hits / of, of))


def wilson_interval(share: float, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of `of` independent items."""
    square = _Z * _Z
    middle = share + square / (2 * of)
    half_width = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    low, high = ((middle + sign * half_width) / (1 + square / of) for sign in (-1, 1))
    # Rounding errors may exceed the possible range.
    return round(max(0.0, low), 4), round(min(1.0, high), 4)


def majority_label(labels: LabelsByPerson) -> str:
    """Return the more frequent of yes and no, or `UNSURE` if there are equally many."""
    counts = Counter(labels.values())
    if counts[YES] == counts[NO]:
        return UNSURE
    return YES if counts[YES] > counts[NO] else NO


def measure_agreement(labels: Sequence[LabelsByPerson]) -> Agreement | None:
    """Return the agreement on accounts with several labels; None if there are none."""
    shared = [each for each in labels if len(each) > 1]
    if not shared:
        return None
    people = sorted({person for each in shared for person in each})
    pairs = [_equal_pairs(each) for each in shared]
    alike = sum(equal for equal, _ in pairs) / sum(of for _, of in pairs)
    kappa = _cohen(shared, *people) if len(people) == 2 else _fleiss(shared)
    return Agreement(len(people), len(shared), round(alike, 4), None if kappa is None else round(kappa, 4))


def _equal_pairs(labels: LabelsByPerson) -> tuple[int, int]:
    """Return the number of pairs of equal labels, and of all pairs."""
    counts, n = Counter(labels.values()), len(labels)
    return sum(count * (count - 1) // 2 for count in counts.values()), n * (n - 1) // 2


def _cohen(shared: Sequence[LabelsByPerson], first: str, second: str) -> float | None:
    """Return kappa where the chance is computed from the labels of each person."""
    of = len(shared)
    observed = sum(each[first] == each[second] for each in shared) / of
    one, other = (Counter(each[person] for each in shared) for person in (first, second))
    chance = sum(one[label] * other[label] for label in LABELS) / of**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def _fleiss(shared: Sequence[LabelsByPerson]) -> float | None:
    """Return kappa where the chance is computed from all labels; accounts may have different numbers of labels."""
    observed = sum(equal / of for equal, of in map(_equal_pairs, shared)) / len(shared)
    whole = Counter(label for each in shared for label in each.values())
    chance = sum((count / whole.total()) ** 2 for count in whole.values())
    return None if chance == 1 else (observed - chance) / (1 - chance)
