"""Grading by labels, as in the paper: people label hashtags, and a post scores the sum of its hashtags.

A post with a score above zero belongs to the event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import fmean

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant


class Category(StrEnum):
    """How a hashtag relates to an event."""

    RELATED = "C1"
    """Of the event itself: its seeds, its name, its teams."""
    POSSIBLY = "C2"
    """Countries, and topics that are part of the event for a while."""
    UNRELATED = "C3"
    """Media, moods."""
    UNKNOWN = "C4"
    """In a language that the tagger does not read."""


Labels = Mapping[str, Category]
Scores = Mapping[str, float]
"""Of every keyword. A term that is missing never was a keyword."""

SCORES: Mapping[Category, int] = {
    Category.RELATED: 3,
    Category.POSSIBLY: 1,
    Category.UNRELATED: -3,
    Category.UNKNOWN: 0,
}
SCORE_OF_OTHERS = -1
"""Of a hashtag that never was a keyword."""
_RELATED_FROM = 2
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
        raise UserError(f"Invalid label {text!r}{meant(word, _CATEGORIES)}. Use one of: {choices}.")
    return _CATEGORIES[word]


def category_of(score: float) -> Category:
    """Return the category of a mean score of several taggers."""
    if score == 0:
        return Category.UNKNOWN
    if score < 0:
        return Category.UNRELATED
    return Category.RELATED if score >= _RELATED_FROM else Category.POSSIBLY


def score_terms(labels: Mapping[str, Sequence[Category]], keywords: Iterable[str]) -> dict[str, float]:
    """Return the mean score of each keyword's labels; 0 without labels."""
    return {term: fmean(SCORES[label] for label in labels.get(term) or (Category.UNKNOWN,)) for term in keywords}


def score_post(hashtags: Iterable[str], scores: Scores) -> float:
    """Return the score of a post with these hashtags; 0 without hashtags."""
    return sum(scores.get(tag, SCORE_OF_OTHERS) for tag in set(hashtags))


def is_related(hashtags: Iterable[str], scores: Scores) -> bool:
    return score_post(hashtags, scores) > 0


def agreement(units: Iterable[Sequence[Category]]) -> tuple[float | None, float | None]:
    """Return the share of equal pairs of labels for the same hashtag, and Krippendorff's alpha.

    Both are None if no hashtag has two labels."""
    shared = [unit for unit in units if len(unit) > 1]
    if not shared:
        return None, None
    same = sum(count * (count - 1) for unit in shared for count in Counter(unit).values())
    return same / sum(len(unit) * (len(unit) - 1) for unit in shared), krippendorff(shared)


def krippendorff(units: Sequence[Sequence[Category]]) -> float:
    """Return Krippendorff's alpha for nominal labels: 1 is agreement, 0 is chance."""
    shared = [unit for unit in units if len(unit) > 1]
    totals = Counter(label for unit in shared for label in unit)
    whole = totals.total()
    by_chance = whole * whole - sum(count * count for count in totals.values())
    if not by_chance:
        return 1.0
    differ = ((len(unit) ** 2 - sum(count * count for count in Counter(unit).values())) / (len(unit) - 1) for unit in shared)
    return 1 - (whole - 1) * sum(differ) / by_chance


def share_retained(labels: Labels, before: Collection[str], after: Collection[str]) -> dict[str, float]:
    """Return the share of keywords that are still there, by category and over `all`; categories without keywords are left out."""
    shares: dict[str, float] = {}
    for category in (*Category, None):
        terms = [term for term in before if category is None or labels.get(term) is category]
        if terms:
            shares[category.value if category else "all"] = sum(term in after for term in terms) / len(terms)
    return shares
