"""Seeds that a crawl could begin with: terms that burst in a time, are written at a place, or are shared by examples.

In all three cases some posts stand for the event and others for everything else: those of the time and those before it, those
of the place and those of elsewhere, the examples and any sample. What is frequent in the former and rare in the latter is a
seed; the user confirms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from math import log

from msgspec import Struct

from bowerbird.model.terms import Kind, Reading, kind_of
from bowerbird.model.terms.reading import phrases

_SIGNIFICANT = 10.83
"""Of the likelihood ratio: one in a thousand terms is as uneven by chance."""
_SHORTEST = 3
_SMOOTH = 0.5
"""Half a post more, so that what nobody else writes is not infinitely frequent."""
_MOST_TERMS = 400_000
"""That are counted at once; beyond them the rarer half is forgotten, for what is that rare is no seed."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A term that could be a seed, and why."""

    term: str
    kind: Kind
    reason: str
    posts: int
    """Of those that stand for the event."""
    others: int
    """Of those that stand for everything else."""
    lift: float
    """How many times as frequent it is."""
    evidence: float
    """The likelihood ratio (Dunning's G²): how far chance is from explaining it."""


class Tally:
    """Posts, and how many have each term (or each of those `wanted`): what memory it takes does not grow with the posts."""

    def __init__(self, wanted: Collection[str] | None = None) -> None:
        self.posts = 0
        self.counts: Counter[str] = Counter()
        self._wanted = None if wanted is None else frozenset(wanted)

    def add(self, post: Reading) -> None:
        self.posts += 1
        terms = {token for token in post.tokens if token[0] != "@"}.union(phrases(post.tokens, 2))
        self.counts.update(terms if self._wanted is None else terms & self._wanted)
        if len(self.counts) > _MOST_TERMS:
            self.counts = Counter(dict(self.counts.most_common(_MOST_TERMS // 2)))


def candidates(event: Tally, least: int = 3) -> list[str]:
    """The terms that are frequent enough to be looked for elsewhere."""
    return [term for term, count in event.counts.items() if count >= min(least, event.posts) and _may_be_seed(term)]


def proposed(event: Tally, elsewhere: Tally, *, least: int = 3, most: int = 10) -> list[Proposal]:
    """Terms of the event that are specific to it, the most telling first; none that another one of them covers."""
    found = [
        _proposal(term, (event.counts[term], event.posts), (elsewhere.counts[term], elsewhere.posts))
        for term in candidates(event, least)
    ]
    telling = [each for each in found if each.lift > 2 and (each.evidence >= _SIGNIFICANT or event.posts < 2 * least)]
    return _uncovered(sorted(telling, key=lambda each: (-each.evidence, each.term)), most)


def _may_be_seed(term: str) -> bool:
    return all((len(word) >= _SHORTEST or not word.isascii()) and not word.isdigit() for word in term.lstrip("#").split(" "))


def _proposal(term: str, here: tuple[int, int], there: tuple[int, int]) -> Proposal:
    (count, posts), (other, others) = here, there
    lift = (count / posts) / ((other + _SMOOTH) / (others + 1))
    return Proposal(
        term=term,
        kind=kind_of(term),
        reason=f"in {count:,} of {posts:,} posts, and in {other:,} of {others:,} others: {lift:,.0f} times as frequent",
        posts=count,
        others=other,
        lift=round(lift, 2),
        evidence=round(likelihood_ratio(here, there), 2),
    )


def likelihood_ratio(here: tuple[int, int], there: tuple[int, int]) -> float:
    """Dunning's G² of a term that is in some of two groups of posts."""
    (count, posts), (other, others) = here, there
    share = (count + other) / max(1, posts + others)
    parts = (
        (count, posts * share),
        (posts - count, posts * (1 - share)),
        (other, others * share),
        (others - other, others * (1 - share)),
    )
    return 2 * sum(seen * log(seen / expected) for seen, expected in parts if seen and expected)


def _uncovered(ranked: Iterable[Proposal], most: int) -> list[Proposal]:
    """Of a phrase and its words only what is more telling; a hashtag stands beside its word."""
    chosen: list[Proposal] = []
    for each in ranked:
        words = set(each.term.split(" "))
        rivals = [set(other.term.split(" ")) for other in chosen if kind_of(other.term) is not Kind.HASHTAG]
        if not any(words <= rival or rival <= words for rival in rivals):
            chosen.append(each)
    return chosen[:most]
