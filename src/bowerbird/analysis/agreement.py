"""What labels of people tell: a share with its interval, and how far people agree. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

from msgspec import Struct

YES, NO, UNSURE = "yes", "no", "unsure"
LABELS = (YES, NO, UNSURE)
_Z = 1.959964
"""For 95 % intervals."""

Said = Mapping[str, str]
"""What each person said of one account."""


class Share(Struct, frozen=True):
    """A share with its 95 % interval."""

    hits: int
    of: int
    share: float | None
    low: float
    high: float


class Agreement(Struct, frozen=True):
    """How far people agree beyond chance; 1 is always, 0 as often as by chance."""

    people: int
    accounts: int
    """That more than one person labelled."""
    alike: float
    """Which part of the pairs of labels agree."""
    kappa: float | None
    """Cohen's for two people, Fleiss' for more; None where everybody always says the same word."""


def share_of(hits: int, of: int) -> Share:
    """Wilson's interval, which does not end at none because none was met."""
    if not of:
        return Share(0, 0, None, 0.0, 1.0)
    part, square = hits / of, _Z * _Z
    middle, room = part + square / (2 * of), _Z * sqrt(part * (1 - part) / of + square / (4 * of * of))
    low, high = ((middle + sign * room) / (1 + square / of) for sign in (-1, 1))
    # Rounding may leave a trace beyond what is possible.
    return Share(hits, of, round(part, 4), round(max(0.0, low), 4), round(min(1.0, high), 4))


def majority(said: Said) -> str:
    """What most people say of an account; a tie is unsure, and so is who is not sure."""
    counts = Counter(said.values())
    if counts[YES] == counts[NO]:
        return UNSURE
    return YES if counts[YES] > counts[NO] else NO


def agreement(labels: Sequence[Said]) -> Agreement | None:
    """How far people agree on the accounts that several labelled; None where nobody shared one with another."""
    shared = [said for said in labels if len(said) > 1]
    people = sorted({who for said in shared for who in said})
    if not shared:
        return None
    pairs = [_pairs(said) for said in shared]
    alike = sum(each for each, _ in pairs) / sum(of for _, of in pairs)
    kappa = _cohen(shared, people) if len(people) == 2 else _fleiss(shared)
    return Agreement(len(people), len(shared), round(alike, 4), None if kappa is None else round(kappa, 4))


def _pairs(said: Said) -> tuple[int, int]:
    """Pairs of people who agree on an account, and all pairs."""
    counts, n = Counter(said.values()), len(said)
    return sum(count * (count - 1) // 2 for count in counts.values()), n * (n - 1) // 2


def _cohen(shared: Sequence[Said], people: Sequence[str]) -> float | None:
    """By what each of two people is given to say."""
    first, second = people
    of = len(shared)
    seen = sum(said[first] == said[second] for said in shared) / of
    own = [Counter(said[who] for said in shared) for who in (first, second)]
    chance = sum(own[0][label] * own[1][label] for label in LABELS) / of**2
    return None if chance == 1 else (seen - chance) / (1 - chance)


def _fleiss(shared: Sequence[Said]) -> float | None:
    """By what all people together are given to say; accounts may have been labelled by different numbers of them."""
    seen = sum(alike / of for alike, of in map(_pairs, shared)) / len(shared)
    whole = Counter(label for said in shared for label in said.values())
    chance = sum((count / whole.total()) ** 2 for count in whole.values())
    return None if chance == 1 else (seen - chance) / (1 - chance)
