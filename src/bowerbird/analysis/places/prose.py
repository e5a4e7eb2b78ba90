"""Places in running text: a description or a post. Careful: better none than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from bowerbird.analysis.places.index.entries import Level
from bowerbird.analysis.places.phrases import without_noise
from bowerbird.analysis.places.resolver import Candidate, Resolver

_PIN = re.compile("[📍📌🏠🏡]\ufe0f?\\s*([^|\\n•·📍📌🏠🏡]{2,60})")
_BASED = re.compile(
    r"\b(?:[Bb]ased|[Ll]iving|[Ll]ives?|[Ll]ocated|[Rr]esiding|[Bb]orn(?: and raised)?|[Rr]aised|[Nn]ative|[Mm]oro|[Vv]ivo)"
    r"\s+(?:in|at|near|of|em|en)\s+(\w[^.|\n•;!?]{1,50})"
)
_PIECE = re.compile(r"[|\n•·]")
_NAMED = re.compile(
    r"\b(?:[Ii]n|[Nn]ear|[Ff]rom|[Ee]m|[Ee]n|[Nn]o|[Nn]a|[Ss]ur|[Bb]ei|[Aa]us|[Nn]ach|[Dd]a|[Àà])\s+"
    r"((?:(?:St|Mt|Ft)\.\s)?[A-ZÀ-Þ][\w'\u2019-]+(?:,?\s[A-ZÀ-Þ][\w'\u2019-]+){0,3})"
)
_LARGE = 100_000
_LONGEST = 2_000


def described(text: str, resolver: Resolver) -> Candidate | None:
    """Where an account says to be in its description."""
    text = text[:_LONGEST]
    marked = [(found[1], 0.55, 0.85) for pattern in (_PIN, _BASED) for found in pattern.finditer(text)]
    pieces = [(piece, 0.94, 0.75) for piece in _PIECE.split(text) if len(piece.split()) <= 5]
    for piece, least, factor in (*marked, *pieces):
        found = resolver.best(piece, least)
        if found is not None and (factor > 0.8 or found.entry.level is Level.CITY):
            return _lessened(found, factor)
    return None


def told(text: str, tags: Sequence[str], resolver: Resolver) -> Candidate | None:
    """A place that a post names as one: after a word such as `in`, or as a hashtag."""
    for name in _names(without_noise(text[:_LONGEST]), tags):
        found = resolver.best(name, 0.8)
        if found is not None and (found.entry.level is not Level.CITY or found.entry.population >= _LARGE):
            return _lessened(found, 0.65)
    return None


def _names(text: str, tags: Sequence[str]) -> Iterator[str]:
    yield from (found[1] for found in _NAMED.finditer(text))
    # Short tags are abbreviations of anything.
    yield from (tag for tag in tags if len(tag) > 4)


def _lessened(found: Candidate, factor: float) -> Candidate:
    return structs.replace(found, confidence=round(found.confidence * factor, 3))
