"""European or Brazilian Portuguese: the hints in what somebody wrote, weighed.

Only what is there counts. That a hint is missing says more about the kind of text than about the variety: nobody laughs in the
news.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from math import exp, sqrt

from msgspec import Struct

from bowerbird.analysis.language.cleaning import cleaned
from bowerbird.analysis.language.hints import BRAZILIAN, EUROPEAN, found, hints

Found = tuple[tuple[str, str], ...]
"""The hints in one post, each with the words that show it."""
VERSION = "1"
"""Changes with hints.toml, weights.toml and the rules below."""
LEAST_SCORE = 1.5
"""Logarithm of odds below which nothing is said."""
LEAST_BALANCE = 0.15
"""Score by all that was found on both sides, below which the sides contradict each other too much."""
_EXAMPLES = 3
_CAUTION = 2.0
"""Hints of one person go together: odds are not what they would be if each were found independently."""


class Evidence(Struct, frozen=True):
    """One hint that counted."""

    hint: str
    side: str
    count: int
    weight: float
    """What it adds to the score; negative where it speaks for Brazil."""
    examples: tuple[str, ...]


class Weighing(Struct, frozen=True, kw_only=True):
    """What the posts of one person, or one post, say about the variety they are written in."""

    variety: str | None
    """None where that is undecided."""
    score: float
    """Logarithm of odds; positive for Portugal."""
    confidence: float
    """That the variety, or the likelier one of the two, is right."""
    posts: int
    evidence: tuple[Evidence, ...]
    """The weightiest first."""


class VarietyClassifier:
    """Weighs hints. Pure: the same posts give the same answer."""

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = packaged_weights() if weights is None else weights

    def weigh(self, posts: Iterable[str]) -> Weighing:
        """Of Portuguese posts of one person; one post is a set of one."""
        return self.weigh_found([tuple(found(cleaned(post))) for post in posts])

    def weigh_found(self, posts: Collection[Found]) -> Weighing:
        """Of posts whose hints were found before."""
        shown: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name, words in chain.from_iterable(posts):
            shown[name][words] += 1
        evidence = [self._evidence(name, words.total(), words) for name, words in shown.items()]
        evidence.sort(key=lambda each: (-abs(each.weight), each.hint))
        return decided([each for each in evidence if each.weight], len(posts))

    def _evidence(self, name: str, count: int, shown: Counter[str]) -> Evidence:
        examples = tuple(words for words, _ in shown.most_common(_EXAMPLES))
        # A habit that is shown often says less each time.
        return Evidence(name, hints()[name].side, count, round(self._weights[name] * sqrt(count), 3), examples)


def decided(evidence: list[Evidence], posts: int) -> Weighing:
    """The answer to this evidence."""
    score = sum(each.weight for each in evidence)
    either = sum(abs(each.weight) for each in evidence)
    is_decided = abs(score) >= LEAST_SCORE and abs(score) >= LEAST_BALANCE * either
    side = EUROPEAN if score > 0 else BRAZILIAN
    return Weighing(
        variety=side if is_decided else None,
        score=round(score, 3),
        confidence=round(1 / (1 + exp(-abs(score) / _CAUTION)), 4),
        posts=posts,
        evidence=tuple(evidence),
    )


@cache
def packaged_weights() -> Mapping[str, float]:
    """How much each hint counts, as estimated from all sources together; negative for Brazil."""
    told = tomllib.loads((files(__package__) / "weights.toml").read_text("utf-8"))
    return {name: float(told[name]) for name in hints()}
