"""Proposes seeds: terms that are frequent in posts of an event and rare elsewhere.

- A term must be at least three times as frequent as in ordinary posts (`reference.py`) and as in
  the other posts of the store, and more frequent than chance explains.
- Words that are common in some language, and phrases with such a word, are left out.
- Hashtags come first, because people choose them to name an event; then the strongest evidence.
- Of several forms of a word, and of phrases that share a word, the first one is proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from math import log

from msgspec import Struct

from bowerbird.keywords.reference import ordinary_share
from bowerbird.keywords.terms import MIN_LETTERS, is_specific, list_terms
from bowerbird.model.terms import Kind, Reading, family, kind_of

MIN_LIFT = 3.0
"""How many times as frequent as elsewhere a term must be."""
MIN_EVIDENCE = 10.83
"""Of the likelihood ratio: one in a thousand terms is as frequent by chance."""
MAX_WORD_SHARE = 0.005
"""Words in more ordinary posts than this name no event."""
_MOST_TERMS = 400_000
"""Terms that are counted at once; beyond them the rarer half is dropped."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A term that could be a seed, and how many posts of the event and other posts contain it."""

    term: str
    posts: int
    others: int
    lift: float
    """How many times as frequent it is in the event."""
    evidence: float
    """The likelihood ratio against chance (Dunning's G² for a known frequency elsewhere)."""


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


def propose_seeds(event: Tally, others: Tally, *, min_posts: int = 3, most: int = 10) -> list[Proposal]:
    """Return the terms that distinguish the event, the best first; hashtags need a post less."""
    proposals = []
    for term, count in event.counts.items():
        is_hashtag = kind_of(term) is Kind.HASHTAG
        if count < min_posts - is_hashtag or not is_specific(term):
            continue
        if not is_hashtag and any(len(word) < MIN_LETTERS or ordinary_share(word) > MAX_WORD_SHARE for word in term.split(" ")):
            continue
        share = max(ordinary_share(term), others.counts[term] / max(1, others.posts))
        expected = event.posts * share
        evidence = 2 * (count * log(count / expected) - (count - expected))
        if count >= MIN_LIFT * expected and evidence >= MIN_EVIDENCE:
            proposals.append(
                Proposal(
                    term=term,
                    posts=count,
                    others=others.counts[term],
                    lift=round(count / expected, 2),
                    evidence=round(evidence, 2),
                )
            )
    proposals.sort(key=lambda each: (kind_of(each.term) is not Kind.HASHTAG, -each.evidence, each.term))
    chosen: list[Proposal] = []
    for each in proposals:
        if not any(means_the_same(each.term, other.term) for other in chosen):
            chosen.append(each)
    return chosen[:most]


def means_the_same(term: str, other: str) -> bool:
    """True for terms of one family (`#bowriver`, `bow river`) and for phrases that share a word."""
    if family(term) == family(other):
        return True
    return "#" not in term + other and not set(term.split(" ")).isdisjoint(other.split(" "))
