"""How well a name fits a country, and how such tables are estimated from names by country."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import log, sqrt
from unicodedata import combining, normalize

from msgspec import Struct

VERSION = "1"
_WORD = re.compile(r"[^\W\d_]{2,}")
_LENGTHS = (2, 3)
_KEPT = 200
"""Pieces kept for each country."""
_LEAST_NAMES = 8
"""A piece that fewer names of all countries have is left out: it could tell of a person."""
_RARE = 0.05
_TOLD = 5
_WEIGHT = re.compile(r"(\S+?)([+-]\d+\.\d+)")
_TITLE = (
    "# Country, score of unlike and of like names, weights of pieces of names.\n"
    "# Made by `bowerbird evaluate profiles --data DIR --letters FILE`."
)


class Letters(Struct, frozen=True):
    """What is known of the names of one country."""

    weights: Mapping[str, float]
    unlike: float
    """One in twenty names of the country has a lower score."""
    like: float
    """One in twenty names of other countries has a higher one."""


class NameFit(Struct, frozen=True):
    """How a name fits a country."""

    score: float
    fits: bool | None
    """None where names of the country and of others look like this."""
    pieces: tuple[tuple[str, float], ...]
    """The weightiest first; `^` and `$` are the ends of a word."""


def name_fit(name: str, country: str) -> NameFit | None:
    """None for a country without a table (two letters, ISO 3166), or a name without letters."""
    letters, found = tables().get(country), pieces(name)
    if letters is None or not found:
        return None
    reached = round(_score(found, letters.weights), 3)
    told = sorted((-abs(letters.weights[piece]), piece) for piece in found if piece in letters.weights)
    low, high = sorted((letters.unlike, letters.like))
    fits = True if reached > high else False if reached < low else None
    return NameFit(reached, fits, tuple((piece, letters.weights[piece]) for _, piece in told[:_TOLD]))


def pieces(name: str) -> frozenset[str]:
    """The twos and threes of letters in the words of a name, without accents."""
    plain = "".join(letter for letter in normalize("NFD", name.lower()) if not combining(letter))
    words = [f"^{word}$" for word in _WORD.findall(plain)]
    return frozenset(word[at : at + n] for word in words for n in _LENGTHS for at in range(len(word) - n + 1))


def score(name: str, letters: Letters) -> float:
    return _score(pieces(name), letters.weights)


def estimated(own: Sequence[str], others: Sequence[str]) -> Letters:
    """From names of one country and names of others."""
    here, there = _counted(own), _counted(others)
    weights = {
        piece: log((here[piece] + 1) / (len(own) + 2)) - log((there[piece] + 1) / (len(others) + 2))
        for piece in here | there
        if here[piece] + there[piece] >= _LEAST_NAMES
    }
    telling = sorted(weights, key=lambda piece: (-abs(weights[piece]) * sqrt(here[piece] + there[piece]), piece))[:_KEPT]
    kept = {piece: round(weights[piece], 1) for piece in sorted(telling)}
    own_scores = sorted(_score(pieces(name), kept) for name in own)
    other_scores = sorted(_score(pieces(name), kept) for name in others)
    unlike, like = own_scores[int(len(own) * _RARE)], other_scores[-1 - int(len(others) * _RARE)]
    return Letters(kept, round(unlike, 2), round(like, 2))


@cache
def tables() -> Mapping[str, Letters]:
    """By country."""
    return read((files(__package__) / "letters.tsv").read_text("utf-8"))


def written(found: Mapping[str, Letters]) -> str:
    lines = (
        "\t".join(
            (country, str(each.unlike), str(each.like), " ".join(f"{piece}{weight:+}" for piece, weight in each.weights.items()))
        )
        for country, each in sorted(found.items())
    )
    return "\n".join((_TITLE, *lines, ""))


def read(text: str) -> Mapping[str, Letters]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            country, unlike, like, told = line.split("\t")
            weights = {match[1]: float(match[2]) for match in _WEIGHT.finditer(told)}
            found[country] = Letters(weights, float(unlike), float(like))
    return found


def _counted(names: Iterable[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name in names:
        found.update(pieces(name))
    return found


def _score(found: Iterable[str], weights: Mapping[str, float]) -> float:
    """Divided by the root of the length: pieces overlap, and long names are no proof."""
    several = list(found)
    return sum(weights.get(piece, 0.0) for piece in several) / sqrt(len(several)) if several else 0.0
