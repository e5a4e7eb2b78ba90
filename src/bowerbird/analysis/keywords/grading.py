"""The paper's grading: people label hashtags, a post is the sum of its hashtags, and what is above zero belongs to the event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import fmean

from msgspec import Struct

from bowerbird.errors import UserError


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
"""A hashtag that nobody labelled, for it was no keyword."""
_WORDS = {"related": "C1", "possibly-related": "C2", "possibly": "C2", "non-related": "C3", "unrelated": "C3", "unknown": "C4"}

Labels = Mapping[str, Category]


def category_of(written: str) -> Category:
    """The category that a tagger wrote, by its sign or in words; raises `UserError` for what is none."""
    word = written.strip().casefold().replace(" ", "-")
    try:
        return Category(_WORDS.get(word, word.upper()))
    except ValueError:
        choices = "C1 (related), C2 (possibly), C3 (non-related) or C4 (unknown)"
        raise UserError(f"{written!r} is no category: write {choices}.") from None


def grade(hashtags: Iterable[str], labels: Labels) -> int:
    """The grade of a post with these hashtags; a post without any has 0."""
    return sum(SCORES[labels[tag]] if tag in labels else OTHER for tag in set(hashtags))


def is_related(hashtags: Iterable[str], labels: Labels) -> bool:
    return grade(hashtags, labels) > 0


class Agreed(Struct, frozen=True):
    """Labels of several taggers made one, and how far they were of one mind."""

    labels: dict[str, Category]
    agreement: float
    """The share of pairs of taggers who gave a hashtag the same category."""
    alpha: float
    """Krippendorff's: 1 is agreement, 0 is what chance would bring."""


def agreed(taggers: Sequence[Labels]) -> Agreed:
    """Every hashtag's category by the average of its scores; who left one out is not counted for it."""
    tags = sorted({tag for each in taggers for tag in each})
    units = [[each[tag] for each in taggers if tag in each] for tag in tags]
    labels = {tag: _nearest(fmean(SCORES[label] for label in unit)) for tag, unit in zip(tags, units, strict=True)}
    return Agreed(labels, _pairwise(units), krippendorff(units))


def _nearest(score: float) -> Category:
    return min(SCORES, key=lambda category: (abs(SCORES[category] - score), -SCORES[category]))


def _pairwise(units: Sequence[Sequence[Category]]) -> float:
    same = sum(count * (count - 1) for unit in units for count in Counter(unit).values())
    pairs = sum(len(unit) * (len(unit) - 1) for unit in units)
    return same / pairs if pairs else 1.0


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
