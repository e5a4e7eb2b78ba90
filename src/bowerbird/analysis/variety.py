"""Distinguish European from Brazilian Portuguese in sets of posts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bowerbird.analysis.languages import SetLanguages

EUROPEAN = "pt-PT"
BRAZILIAN = "pt-BR"
MIXED = "mixed"
VERSION = "2"
"""Changes with the weights and the rules of this module. Labels record it."""


class Evidence(Struct, frozen=True):
    """One term that counted."""

    term: str
    count: int
    weight: float
    """What it adds to the score; negative for Brazil."""


class Variety(Struct, frozen=True, kw_only=True):
    """The variety of Portuguese of a set of posts."""

    variety: str | None
    """`pt-PT`, `pt-BR`, `mixed`, or None if undecided or if the posts are not Portuguese."""
    score: float = 0.0
    """Logarithm of the odds; positive for Portugal."""
    confidence: float = 0.0
    """Probability that the variety, or the likelier of the two, is right."""
    posts: int = 0
    """Number of Portuguese posts that were used; 0 if the set is not Portuguese."""
    evidence: tuple[Evidence, ...] = ()
    """The largest weights first."""


def classify_variety(texts: Sequence[str], languages: SetLanguages) -> Variety:
    """Return the variety of a set of posts; `languages` is `Identifier.identify_set` of them."""
    from bowerbird.analysis.language.variety import VarietyClassifier

    shares = languages.shares
    if languages.identified < 3 or shares.get("pt", 0.0) <= 0.5 or shares.get("gl", 0.0) >= 0.2:
        return Variety(variety=None)
    posts = [text for text, name in zip(texts, languages.by_post, strict=True) if name == "pt"]
    old = VarietyClassifier().weigh(posts)
    evidence = tuple(Evidence(each.examples[0], each.count, each.weight) for each in old.evidence)
    return Variety(variety=old.variety, score=old.score, confidence=old.confidence, posts=len(posts), evidence=evidence)
