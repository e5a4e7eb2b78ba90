"""The paper's grading: people label hashtags, a post is the sum of its hashtags, and what is above zero belongs to the event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import fmean

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant


class Category(StrEnum):
    """What a hashtag is to the event."""

    RELATED = "C1"
    """The event's own: what it was begun with, teams, names of the event."""
    POSSIBLY = "C2"
    """Countries, and what has to do with it for a moment."""
    UNRELATED = "C3"
    """Media, moods."""
    UNKNOWN = "C4"
    """Of languages that the tagger does not read."""


SCORES: Mapping[Category, int] = {
    Category.RELATED: 3,
    Category.POSSIBLY: 1,
    Category.UNRELATED: -3,
    Category.UNKNOWN: 0,
}
OTHER = -1
"""Of a hashtag that never was a keyword."""
_SURE = 2
"""The least average of what is related."""
WORDS: Mapping[Category, tuple[str, ...]] = {
    Category.RELATED: ("related", "r"),
    Category.POSSIBLY: ("possibly", "possibly related", "p"),
    Category.UNRELATED: ("unrelated", "not related", "non-related", "not", "n"),
    Category.UNKNOWN: ("unknown", "u"),
}
"""What taggers may write, besides C1 to C4 and in any case, with hyphens or spaces; the first is how it is kept."""
_BY_WORD = {word.replace(" ", "-"): each for each, words in WORDS.items() for word in (*words, each.lower())}

Labels = Mapping[str, Category]
Scores = Mapping[str, float]
"""Of every keyword; what is not among them never was one."""


def category_of(written: str) -> Category:
    """The category that a tagger wrote, by its sign or in words; raises `UserError` for what is none."""
    word = "-".join(written.casefold().replace("-", " ").split())
    if word not in _BY_WORD:
        choices = ", ".join(f"{words[0]} ({each}, {words[-1]})" for each, words in WORDS.items())
        raise UserError(f"unknown label {written!r}{meant(word, _BY_WORD)}; write one of {choices}")
    return _BY_WORD[word]


def category(score: float) -> Category:
    """Of an average of several taggers: by its sign, as it adds to a post or takes from it."""
    if score == 0:
        return Category.UNKNOWN
    if score < 0:
        return Category.UNRELATED
    return Category.RELATED if score >= _SURE else Category.POSSIBLY


def scored(given: Mapping[str, Sequence[Category]], keywords: Iterable[str]) -> dict[str, float]:
    """The average of each keyword's labels; 0, as of an unknown one, for a keyword that nobody has labelled."""
    return {term: fmean(SCORES[label] for label in given.get(term) or (Category.UNKNOWN,)) for term in keywords}


def grade(hashtags: Iterable[str], scores: Scores) -> float:
    """The grade of a post with these hashtags; a post without any has 0."""
    return sum(scores.get(tag, OTHER) for tag in set(hashtags))


def is_related(hashtags: Iterable[str], scores: Scores) -> bool:
    return grade(hashtags, scores) > 0


def agreement(units: Iterable[Sequence[Category]]) -> tuple[float | None, float | None]:
    """Of the labels that each hashtag was given: the share of pairs of taggers who agree, and Krippendorff's alpha (1 is
    agreement, 0 is what chance would bring); None where nobody labelled what another did."""
    several = [unit for unit in units if len(unit) > 1]
    return (_pairwise(several), krippendorff(several)) if several else (None, None)


def _pairwise(units: Sequence[Sequence[Category]]) -> float:
    same = sum(count * (count - 1) for unit in units for count in Counter(unit).values())
    return same / sum(len(unit) * (len(unit) - 1) for unit in units)


def krippendorff(units: Sequence[Sequence[Category]]) -> float:
    """Krippendorff's alpha for names: one less the share of disagreement that was seen of that which chance would bring."""
    several = [unit for unit in units if len(unit) > 1]
    totals = Counter(label for unit in several for label in unit)
    whole = totals.total()
    by_chance = whole * whole - sum(count * count for count in totals.values())
    if not by_chance:
        return 1.0
    differ = ((len(unit) ** 2 - sum(count * count for count in Counter(unit).values())) / (len(unit) - 1) for unit in several)
    return 1 - (whole - 1) * sum(differ) / by_chance


def retained(labels: Labels, before: Collection[str], after: Collection[str]) -> dict[str, float]:
    """The share of keywords that are still there, by category and over `all`; a category of which there was none is left out."""
    shares: dict[str, float] = {}
    for name in (*Category, None):
        had = [term for term in before if name is None or labels.get(term) is name]
        if had:
            shares[name.value if name else "all"] = sum(term in after for term in had) / len(had)
    return shares
