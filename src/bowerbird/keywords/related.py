"""Related terms: how often two terms occur in the same posts, and whether their traffic rises and falls together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from msgspec import Struct

from bowerbird.model.terms.traffic import pearson


class Related(Struct, frozen=True, kw_only=True):
    """A term compared with another one."""

    term: str
    posts: int
    together: int
    """Posts with both."""
    jaccard: float
    """Share of posts with both among those with either."""
    surprise: float
    """Normalised pointwise mutual information: -1 never together, 0 as often as by chance, 1 only together."""
    correlation: float
    """Of the traffic (Pearson); 0 if one of the two never changes."""


def find_related(
    term: str, traffic: Mapping[str, Sequence[int]], together: Mapping[str, Mapping[str, int]], posts: int
) -> list[Related]:
    """Return all other terms, the closest first; none if the term has no traffic.

    `traffic`: posts with each term by slot; `together`: posts with both of two terms, in one direction or
    both; `posts`: all posts."""
    if term not in traffic:
        return []
    found, own = [], sum(traffic[term])
    for other in traffic.keys() - {term}:
        count = sum(traffic[other])
        both = max(together.get(term, {}).get(other, 0), together.get(other, {}).get(term, 0))
        # It can be greater if one of them was not counted in every frame.
        both = min(both, own, count)
        related = Related(
            term=other,
            posts=count,
            together=both,
            jaccard=round(both / max(1, own + count - both), 4),
            surprise=round(surprise(own, count, both, posts), 4),
            correlation=round(pearson(traffic[term], traffic[other]), 4),
        )
        found.append(related)
    return sorted(found, key=closeness)


def closeness(related: Related) -> tuple[float, float, str]:
    """Return the sort key for related terms, the closest first."""
    return -related.jaccard, -related.correlation, related.term


def surprise(own: int, other: int, together: int, whole: int) -> float:
    """Return the normalised pointwise mutual information of two terms, given posts with each, both, and all posts."""
    if not together:
        return -1.0 if own and other else 0.0
    if together >= whole:
        return 1.0
    return log(together * whole / (own * other)) / -log(together / whole)
