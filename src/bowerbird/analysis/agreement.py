"""Evaluate labels that people gave: shares with intervals, majorities, and agreement beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import sqrt

from msgspec import Struct

YES, NO, UNSURE = "yes", "no", "unsure"
LABELS = (YES, NO, UNSURE)
Z = 1.959964
"""The quantile of the normal distribution for 95 % intervals."""


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
    """Return a share with its 95 % interval."""
    if not of:
        return Share(0, 0, None, 0.0, 1.0)
    low, high = wilson_interval(hits / of, of)
    return Share(hits, of, round(hits / of, 4), round(low, 4), round(high, 4))


def wilson_interval(share: float, of: float, quantile: float = Z) -> tuple[float, float]:
    """Return Wilson's interval of a share of `of` independent items, which is not empty at 0 and 1."""
    extra = quantile * quantile / of
    middle = (share + extra / 2) / (1 + extra)
    half_width = quantile / (1 + extra) * sqrt(share * (1 - share) / of + extra / (4 * of))
    # Rounding errors may exceed the possible range.
    return max(0.0, middle - half_width), min(1.0, middle + half_width)


def majority_label(labels: Mapping[str, str]) -> str:
    """Return the more frequent of yes and no among the labels by person, or `UNSURE` if there are equally many."""
    counts = Counter(labels.values())
    if counts[YES] == counts[NO]:
        return UNSURE
    return YES if counts[YES] > counts[NO] else NO


def measure_agreement(labels: Sequence[Mapping[str, str]]) -> Agreement | None:
    """Return the agreement on accounts with several labels, which are given by person; None if there are none."""
    shared = [each for each in labels if len(each) > 1]
    if not shared:
        return None
    people = sorted({person for each in shared for person in each})
    pairs = [_equal_pairs(each.values()) for each in shared]
    alike = sum(equal for equal, _ in pairs) / sum(of for _, of in pairs)
    observed = sum(equal / of for equal, of in pairs) / len(shared)
    if len(people) == 2:
        # Cohen: the chance by the labels of each person.
        first, second = (Counter(each[person] for each in shared) for person in people)
        chance = sum(first[label] * second[label] for label in first) / len(shared) ** 2
    else:
        # Fleiss: the chance by all labels.
        counts = Counter(label for each in shared for label in each.values())
        chance = sum(count**2 for count in counts.values()) / counts.total() ** 2
    kappa = None if chance == 1 else round((observed - chance) / (1 - chance), 4)
    return Agreement(len(people), len(shared), round(alike, 4), kappa)


def _equal_pairs(labels: Collection[str]) -> tuple[int, int]:
    """Return the number of pairs of equal labels, and of all pairs."""
    counts, n = Counter(labels), len(labels)
    return sum(count * (count - 1) // 2 for count in counts.values()), n * (n - 1) // 2
