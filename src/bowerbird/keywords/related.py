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
    share: float
    """Share of the other term's posts that contain this term too."""
    surprise: float
    """Normalised pointwise mutual information: -1 never together, 0 as often as by chance, 1 only together."""
    correlation: float
    """Of the traffic (Pearson); 0 if one of the two never changes."""


class Traffic(Struct, frozen=True):
    """Posts with each term by slot, posts with both of two terms, and all posts."""

    counts: Mapping[str, Sequence[int]]
    """As many slots for each term."""
    together: Mapping[str, Mapping[str, int]]
    """By term: posts that contain each other term too. One direction is enough."""
    posts: int


def find_related(term: str, traffic: Traffic) -> list[Related]:
    """Return all other terms, the closest first; none if the term has no traffic."""
    if term not in traffic.counts:
        return []
    found = []
    own = sum(traffic.counts[term])
    for other, counts in traffic.counts.items():
        if other == term:
            continue
        posts = sum(counts)
        together = max(traffic.together.get(term, {}).get(other, 0), traffic.together.get(other, {}).get(term, 0))
        # It can be greater if one of them was not counted in every frame.
        together = min(together, own, posts)
        either = own + posts - together
        found.append(
            Related(
                term=other,
                posts=posts,
                together=together,
                jaccard=round(together / either, 4) if either else 0.0,
                share=round(together / own, 4) if own else 0.0,
                surprise=round(surprise(own, posts, together, traffic.posts), 4),
                correlation=round(pearson(traffic.counts[term], counts), 4),
            )
        )
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
