"""Seeds that a crawl could begin with: terms that burst in a time, are written at a place, or are shared by examples.

In all three cases some posts stand for the event and others for everything else: those of the time and those before it, those
of the place and those of elsewhere, the examples and any sample. What is frequent in the former and rare in the latter is a
seed; the user confirms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log

from msgspec import Struct

from bowerbird.model.terms import Kind, Reading, kind_of
from bowerbird.model.terms.reading import phrases

_SIGNIFICANT = 10.83
"""Of the likelihood ratio: one in a thousand terms is as uneven by chance."""
_SHORTEST = 3
_SMOOTH = 0.5


class Proposal(Struct, frozen=True, kw_only=True):
    """A term that could be a seed, and why."""

    term: str
    reason: str
    posts: int
    """Of those that stand for the event."""
    others: int
    """Of those that stand for everything else."""
    lift: float
    """How many times as frequent it is."""
    evidence: float
    """The likelihood ratio (Dunning's G²): how far chance is from explaining it."""


def proposed(event: Iterable[Reading], elsewhere: Iterable[Reading], *, least: int = 3, most: int = 10) -> list[Proposal]:
    """Terms of the event that are specific to it, the most telling first; none that another one of them covers."""
    (here, posts), (there, others) = _counted(event), _counted(elsewhere)
    found = [
        _proposal(term, (count, posts), (there[term], others))
        for term, count in here.items()
        if count >= min(least, posts) and _may_be_seed(term)
    ]
    telling = [each for each in found if each.lift > 2 and (each.evidence >= _SIGNIFICANT or posts < 2 * least)]
    return _uncovered(sorted(telling, key=lambda each: (-each.evidence, each.term)), most)


def _counted(posts: Iterable[Reading]) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    read = list(posts)
    for post in read:
        terms = {token for token in post.tokens if token[0] != "@"}
        counts.update(terms | set(phrases(post.tokens, 2)))
    return counts, len(read)


def _may_be_seed(term: str) -> bool:
    return all((len(word) >= _SHORTEST or not word.isascii()) and not word.isdigit() for word in term.lstrip("#").split(" "))


def _proposal(term: str, here: tuple[int, int], there: tuple[int, int]) -> Proposal:
    (count, posts), (other, others) = here, there
    lift = (count / posts) / ((other + _SMOOTH) / (others + 1))
    usual = f"{other} of {others} others" if others else "nothing to compare with"
    return Proposal(
        term=term,
        reason=f"in {count} of {posts} posts, and in {usual}: {lift:.0f} times as frequent",
        posts=count,
        others=other,
        lift=lift,
        evidence=likelihood_ratio(here, there),
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
