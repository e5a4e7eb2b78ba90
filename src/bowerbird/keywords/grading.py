"""Grading by labels, as in the paper: people label keywords, and a post scores the sum of its keywords.

Keywords of every kind count: hashtags, words, phrases and accounts. A post with a score above zero belongs to
the event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from statistics import fmean

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant
from bowerbird.model.terms import Matcher, Reading


class Category(StrEnum):
    """How a keyword relates to an event."""

    RELATED = "C1"
    """Of the event itself: its seeds, its name, its teams."""
    POSSIBLY = "C2"
    """Countries, and topics that are part of the event for a while."""
    UNRELATED = "C3"
    """Media, moods."""
    UNKNOWN = "C4"
    """In a language that the tagger does not read."""


SCORES: Mapping[Category, int] = {
    Category.RELATED: 3,
    Category.POSSIBLY: 1,
    Category.UNRELATED: -3,
    Category.UNKNOWN: 0,
}
WORDS: Mapping[Category, tuple[str, ...]] = {
    Category.RELATED: ("related", "r"),
    Category.POSSIBLY: ("possibly", "possibly related", "p"),
    Category.UNRELATED: ("unrelated", "not related", "non-related", "not", "n"),
    Category.UNKNOWN: ("unknown", "u"),
}
"""What taggers may write besides C1 to C4, in any case, with hyphens or spaces. The first is stored."""
_CATEGORIES = {word.replace(" ", "-"): each for each, words in WORDS.items() for word in (*words, each.lower())}


def parse_category(text: str) -> Category:
    """Return the category that a tagger wrote; raises `UserError` if it is invalid."""
    word = "-".join(text.casefold().replace("-", " ").split())
    if word not in _CATEGORIES:
        choices = ", ".join(f"{words[0]} ({each}, {words[-1]})" for each, words in WORDS.items())
        raise UserError(f"Invalid label {text!r}{meant(word, _CATEGORIES)}.", f"Use one of: {choices}.")
    return _CATEGORIES[word]


def category_of(score: float) -> Category:
    """Return the category of a mean score of several taggers."""
    if score == 0:
        return Category.UNKNOWN
    if score < 0:
        return Category.UNRELATED
    return Category.RELATED if score >= 2 else Category.POSSIBLY


def score_terms(labels: Mapping[str, Collection[Category]], keywords: Iterable[str]) -> dict[str, float]:
    """Return the mean score of each keyword's labels; 0 without labels."""
    return {term: fmean(SCORES[label] for label in labels.get(term) or (Category.UNKNOWN,)) for term in keywords}


class PostGrader:
    """Scores posts by the scores of all keywords that any method ever followed."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self._scores = scores
        self._matcher = Matcher(scores)

    def score(self, post: Reading) -> float:
        """Return the sum of the scores of a post's keywords, less 1 for each hashtag that is none."""
        others = [tag for tag in post.hashtags if tag not in self._scores and tag[1:] not in self._scores]
        return sum(self._scores[term] for term in self._matcher.matched(post)) - len(others)

    def is_related(self, post: Reading) -> bool:
        return self.score(post) > 0


def share_retained(labels: Mapping[str, Category], before: Collection[str], after: Collection[str]) -> dict[str, float]:
    """Return the share of keywords that are still there, by category and over `all`; categories without keywords are left out."""
    groups = {category.value: [term for term in before if labels.get(term) is category] for category in Category}
    groups["all"] = list(before)
    return {name: sum(term in after for term in terms) / len(terms) for name, terms in groups.items() if terms}
