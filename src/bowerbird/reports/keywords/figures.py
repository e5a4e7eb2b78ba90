"""The names of figures about keywords, the same in pages, commands, exports and documents, and the thresholds of a method."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from bowerbird.keywords.values import SPAN_FRAMES
from bowerbird.model.terms import Kind, kind_of


class Figure(Struct, frozen=True):
    """The name of a figure for readers, and what it means in one line."""

    name: str
    meaning: str


FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "posts_in_frame": Figure("Posts in this frame", "Collected posts of the frame that contain the term."),
        "posts_collected": Figure("Posts collected by it", "All posts that the keyword, or the method, has collected."),
        "posts_only_it_found": Figure(
            "Posts only it found",
            f"For a term: different posts of the last {SPAN_FRAMES} frames with the term and no other keyword; its precision is "
            "estimated from them. For a method: posts that no other method collected.",
        ),
        "expected": Figure("Expected posts", "How many of the posts that only it found are explained by ordinary use."),
        "burst": Figure("Burst", "The share of the posts that only it found that ordinary use does not explain."),
        "precision": Figure(
            "Precision",
            "The share of its posts that belong to the event, estimated without labels, with the 20 % and 80 % quantiles.",
        ),
    }
)
"""By key, as in JSON and exports."""


def name_figure(key: str) -> str:
    """Return the name of a figure, or of an unnamed one its key in words."""
    return FIGURES[key].name if key in FIGURES else key.replace("_", " ").capitalize()


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


class Thresholds(Struct, frozen=True, kw_only=True):
    """The precision with which keywords enter and leave, as a method used it in its last frame."""

    enters_from: float
    """For the lower bound of words and phrases."""
    hashtag_enters_from: float
    """For the lower bound of hashtags."""
    leaves_below: float
    """For the mean."""

    def needed(self, term: str, verdict: str) -> str:
        """Return the precision that a term needs to enter, or a keyword to stay."""
        if verdict in ("in", "leaves"):
            return f"mean ≥ {percent(self.leaves_below)}"
        is_hashtag = kind_of(term) is Kind.HASHTAG
        least = self.hashtag_enters_from if is_hashtag else self.enters_from
        return f"low end ≥ {percent(least)}"

    def __str__(self) -> str:
        return (
            f"A word or phrase enters if the low end of its precision is at least {percent(self.enters_from)}, "
            f"a hashtag with {percent(self.hashtag_enters_from)}. A keyword leaves if its precision falls below "
            f"{percent(self.leaves_below)}. Seeds and pinned keywords stay."
        )


VERDICTS: Mapping[str, str] = MappingProxyType(
    {
        "unlike the event": "the low end of its precision is below the one needed",
        "no burst": "ordinary use explains its posts",
        "apart from the event": "few of its posts contain another keyword",
        "unlike the seeds": "its traffic does not follow that of a keyword",
        "full": "it could enter, but there is no room for another keyword",
    }
)
"""Why a term is not a keyword."""
