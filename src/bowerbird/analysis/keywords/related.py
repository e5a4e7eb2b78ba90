"""How two terms belong together: how often they come in the same posts, and whether their traffic goes up and down together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, sqrt

from msgspec import Struct


class Related(Struct, frozen=True, kw_only=True):
    """One term seen from another."""

    term: str
    posts: int
    together: int
    """Posts with both."""
    jaccard: float
    """Posts with both, of those with either."""
    share: float
    """Of the posts with the other term, those that have this one too."""
    surprise: float
    """Pointwise mutual information, from -1 (never together) over 0 (as often as chance) to 1 (only together)."""
    correlation: float
    """Of the traffic (Pearson); 0 where one of the two never changes."""


class Traffic(Struct, frozen=True):
    """Posts with each term by slot, posts with both of two terms, and all posts."""

    counts: Mapping[str, Sequence[int]]
    together: Mapping[str, Mapping[str, int]]
    """By term: how many posts carry each other term too; one direction is enough."""
    posts: int


def related(term: str, traffic: Traffic) -> list[Related]:
    """All other terms, those that belong to it most closely first."""
    found = [_seen(term, other, traffic) for other in traffic.counts if other != term]
    return sorted(found, key=lambda each: (-each.jaccard, -each.correlation, each.term))


def _seen(term: str, other: str, traffic: Traffic) -> Related:
    mine, theirs = sum(traffic.counts.get(term, ())), sum(traffic.counts[other])
    both = max(traffic.together.get(term, {}).get(other, 0), traffic.together.get(other, {}).get(term, 0))
    either = mine + theirs - both
    return Related(
        term=other,
        posts=theirs,
        together=both,
        jaccard=both / either if either else 0.0,
        share=both / mine if mine else 0.0,
        surprise=surprise(mine, theirs, both, traffic.posts),
        correlation=correlation(traffic.counts.get(term, ()), traffic.counts[other]),
    )


def surprise(mine: int, theirs: int, both: int, whole: int) -> float:
    """Normalised pointwise mutual information."""
    if not both:
        return -1.0 if mine and theirs else 0.0
    if both >= whole:
        return 1.0
    return log(both * whole / (mine * theirs)) / -log(both / whole)


def correlation(one: Sequence[int], other: Sequence[int]) -> float:
    """Pearson's, of two courses of the same length; 0 where one never changes."""
    size = min(len(one), len(other))
    if size < 2:
        return 0.0
    middle, other_middle = sum(one[:size]) / size, sum(other[:size]) / size
    apart = [(left - middle, right - other_middle) for left, right in zip(one[:size], other[:size], strict=True)]
    spread = sum(left * left for left, _ in apart) * sum(right * right for _, right in apart)
    return sum(left * right for left, right in apart) / sqrt(spread) if spread > 0 else 0.0
