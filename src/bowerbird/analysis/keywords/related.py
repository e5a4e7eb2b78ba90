"""How two terms belong together: how often they come in the same posts, and whether their traffic goes up and down together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from msgspec import Struct

from bowerbird.model.terms.traffic import pearson


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
    """Equally many slots of each."""
    together: Mapping[str, Mapping[str, int]]
    """By term: how many posts carry each other term too; one direction is enough."""
    posts: int


def related(term: str, traffic: Traffic) -> list[Related]:
    """All other terms, those that belong to it most closely first; none where nothing is known of the term."""
    found = [_seen(term, other, traffic) for other in traffic.counts if other != term and term in traffic.counts]
    return sorted(found, key=closeness)


def closeness(each: Related) -> tuple[float, float, str]:
    """By which terms are ranked."""
    return -each.jaccard, -each.correlation, each.term


def _seen(term: str, other: str, traffic: Traffic) -> Related:
    mine, theirs = sum(traffic.counts[term]), sum(traffic.counts[other])
    both = max(traffic.together.get(term, {}).get(other, 0), traffic.together.get(other, {}).get(term, 0))
    # More where one of them was not looked at in every frame in which the other was.
    both = min(both, mine, theirs)
    either = mine + theirs - both
    return Related(
        term=other,
        posts=theirs,
        together=both,
        jaccard=round(both / either, 4) if either else 0.0,
        share=round(both / mine, 4) if mine else 0.0,
        surprise=round(surprise(mine, theirs, both, traffic.posts), 4),
        correlation=round(pearson(traffic.counts[term], traffic.counts[other]), 4),
    )


def surprise(mine: int, theirs: int, both: int, whole: int) -> float:
    """Normalised pointwise mutual information."""
    if not both:
        return -1.0 if mine and theirs else 0.0
    if both >= whole:
        return 1.0
    return log(both * whole / (mine * theirs)) / -log(both / whole)
