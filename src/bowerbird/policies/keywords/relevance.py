"""How relevant a term is to the event, between the background (0) and the seeds (1), with bounds; and whether it is chance."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, sqrt

from msgspec import Struct

from bowerbird.policies.keywords.values import Evidence, State

_Z = 1.0
"""Bounds of one standard deviation."""
_Q = 0.05
"""The share of discoveries that may be false."""
_ENOUGH = 80
_NARROWEST = 0.05
"""The least distance between seeds and background: where there is hardly any, nothing can be told."""


class Scale(Struct, frozen=True):
    """The share of posts that look like the event: in the background, and with a seed."""

    background: float
    seeds: float

    def place(self, share: float) -> float:
        """Where a share lies between the two ends, 0 to 1."""
        return min(1.0, max(0.0, (share - self.background) / max(_NARROWEST, self.seeds - self.background)))


class Relevance(Struct, frozen=True):
    """A term's place on the scale."""

    value: float
    low: float
    high: float
    posts: float


def scale_of(state: State) -> Scale:
    """What is followed in the background is the event itself, and no false alarm. Seeds begin with a prejudice of four posts."""
    numbers = state.numbers
    alarms = numbers.get("sampled_alike", 0.0) - numbers.get("sampled_followed", 0.0)
    seeds = (numbers.get("seed_alike", 0.0) + 3.2) / (numbers.get("seed_posts", 0.0) + 4)
    return Scale(background=(alarms + 0.5) / (numbers.get("sampled", 0.0) + 50), seeds=seeds)


def relevance(evidence: Evidence, scale: Scale) -> Relevance:
    share = evidence.alike / evidence.posts if evidence.posts else 0.0
    low, high = wilson(evidence.alike, evidence.posts)
    return Relevance(scale.place(share), scale.place(low), scale.place(high), evidence.posts)


def wilson(hits: float, of: float) -> tuple[float, float]:
    """The bounds of a share (Wilson's score interval); everything is possible where nothing was seen."""
    if of <= 0:
        return 0.0, 1.0
    share, square = hits / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def tail(hits: int, of: int, chance: float) -> float:
    """How probable so many hits or more are if each comes by this chance."""
    return min(1.0, sum(comb(of, each) * chance**each * (1 - chance) ** (of - each) for each in range(hits, of + 1)))


def discoveries(evidence: Mapping[str, Evidence], chance: float) -> frozenset[str]:
    """The terms that look like the event more often than chance explains, of which at most one in twenty is false
    (Benjamini and Hochberg)."""
    ranked = sorted((_by_chance(each, chance), term) for term, each in evidence.items())
    last = max(
        (number for number, (probability, _) in enumerate(ranked, 1) if probability <= _Q * number / len(ranked)), default=0
    )
    return frozenset(term for _, term in ranked[:last])


def _by_chance(evidence: Evidence, chance: float) -> float:
    """More posts than some probes bring add nothing to the doubt, and take long to reckon."""
    part = min(1.0, _ENOUGH / max(1.0, evidence.posts))
    hits = round(evidence.alike * part)
    return tail(hits, max(hits, round(evidence.posts * part)), chance)
