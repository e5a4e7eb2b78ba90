"""Proposes seeds: terms that are frequent in posts of an event and rare elsewhere.

The posts of the event are those of a time or place, or a few examples; the others are the rest of the store.
A term must be more frequent than in the others, and, if it is a word or a pair of words, more frequent than in
ordinary posts of many languages. Hashtags come first, for people choose them to name an event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from math import log

from msgspec import Struct

from bowerbird.keywords.reference import ordinary_share
from bowerbird.keywords.terms import is_specific, list_terms
from bowerbird.model.terms import Kind, Reading, family, kind_of

MIN_LIFT = 3.0
"""How many times as frequent as elsewhere a term must be."""
SIGNIFICANT = 10.83
"""Of the likelihood ratio: one in a thousand terms is as uneven by chance."""
MAX_ORDINARY_SHARE = 0.005
"""Words that occur in more ordinary posts than this name no event."""
_SMOOTHING = 0.5
_MOST_TERMS = 400_000
"""Terms that are counted at once; beyond them the rarer half is dropped."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A term that could be a seed, and why."""

    term: str
    kind: Kind
    reason: str
    posts: int
    """Posts of the event with it."""
    others: int
    """Other posts with it."""
    lift: float
    """How many times as frequent it is in the event."""
    evidence: float
    """The likelihood ratio (Dunning's G²) against chance."""


class Tally:
    """The number of posts, and of posts with each term, or with each of the terms `wanted`."""

    def __init__(self, wanted: Collection[str] | None = None) -> None:
        self.posts = 0
        self.counts: Counter[str] = Counter()
        self._wanted = None if wanted is None else frozenset(wanted)

    def add(self, post: Reading) -> None:
        self.posts += 1
        terms = list_terms(post)
        self.counts.update(terms if self._wanted is None else terms & self._wanted)
        if len(self.counts) > _MOST_TERMS:
            self.counts = Counter(dict(self.counts.most_common(_MOST_TERMS // 2)))


def find_candidates(event: Tally, min_posts: int) -> list[str]:
    """Return the terms of the event that are frequent enough, and of which the others are to be searched."""
    return [
        term
        for term, count in event.counts.items()
        if count >= (1 if _is_example(event, min_posts) and kind_of(term) is Kind.HASHTAG else min(min_posts, event.posts))
        and is_specific(term)
        and (kind_of(term) is Kind.HASHTAG or ordinary_share(term) <= MAX_ORDINARY_SHARE)
    ]


def propose_seeds(event: Tally, others: Tally, *, min_posts: int = 3, most: int = 10) -> list[Proposal]:
    """Return terms that are specific to the event, hashtags first, then the most telling first."""
    proposals = []
    for term in find_candidates(event, min_posts):
        proposal = _compare(term, event, others)
        is_telling = proposal.evidence >= SIGNIFICANT or _is_example(event, min_posts)
        if proposal.lift > MIN_LIFT and is_telling:
            proposals.append(proposal)
    ranked = sorted(proposals, key=lambda each: (each.kind is not Kind.HASHTAG, -each.evidence, -each.lift, each.term))
    chosen: list[Proposal] = []
    for each in ranked:
        # A seed `#bowriver` makes neither `bow river` nor `river` another one; of a pair and its words one is enough.
        if all(family(each.term) != family(other.term) and not _share_words(each.term, other.term) for other in chosen):
            chosen.append(each)
    return chosen[:most]


def likelihood_ratio(count: int, posts: int, other: int, others: int) -> float:
    """Return Dunning's G² of a term in `count` of `posts` and in `other` of `others`."""
    share = (count + other) / max(1, posts + others)
    cells = (
        (count, posts * share),
        (posts - count, posts * (1 - share)),
        (other, others * share),
        (others - other, others * (1 - share)),
    )
    return 2 * sum(seen * log(seen / expected) for seen, expected in cells if seen and expected)


def _is_example(event: Tally, min_posts: int) -> bool:
    """True if there are too few posts of the event for statistics."""
    return event.posts < 2 * min_posts


def _compare(term: str, event: Tally, others: Tally) -> Proposal:
    count, other = event.counts[term], others.counts[term]
    elsewhere = ordinary_share(term)
    if others.posts:
        elsewhere = max(elsewhere, (other + _SMOOTHING) / (others.posts + 1))
    lift = count / event.posts / elsewhere
    return Proposal(
        term=term,
        kind=kind_of(term),
        reason=f"in {count:,} of {event.posts:,} posts, and in {other:,} of {others.posts:,} others",
        posts=count,
        others=other,
        lift=round(lift, 2),
        evidence=round(likelihood_ratio(count, event.posts, other, others.posts), 2),
    )


def _share_words(term: str, other: str) -> bool:
    """True for a pair of words and one of its words, and for two pairs with a word in common."""
    if "#" in (term[0], other[0]):
        return False
    return not set(term.split(" ")).isdisjoint(other.split(" "))
