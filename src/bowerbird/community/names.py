"""How well a name fits the names of a country: naive Bayes over the letters of its words.

The table `names.npz` holds, for each sequence of one to four letters and each country, how much more
often the sequence occurs in names of that country than in names of all countries, as a logarithm. It
holds no names: sequences that fewer than eight names contain are left out. Build it again with
`bowerbird evaluate profiles --data DIR --names FILE`.

Names are transliterated to Latin letters first. Names in Chinese characters are split into surname and
given name, because nothing separates the two.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from unicodedata import category

import numpy as np
import numpy.typing as npt
from anyascii import anyascii
from msgspec import Struct

VERSION = "2"
_LONGEST_GRAM = 4
STEPS = 20
"""Table values are multiples of 1/20."""
_TEMPER = 0.6
"""Neighbouring letters depend on each other, so the sum of their logarithms is too large."""
_ENGLISH = ("US", "GB", "CA", "AU")
_SHARE_ENGLISH, _SHARE_SAME_LANGUAGE, _SHARE_OF_PLACE = 0.35, 0.35, 0.8
_SAME_LANGUAGE_MARGIN = 1.0
_WORD = re.compile(r"[a-z]{2,}")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_LONGEST_NAME = 100


class NameTable(Struct, frozen=True):
    """Log frequency ratios of letter sequences, by country."""

    countries: tuple[str, ...]
    rows: Mapping[str, int]
    """Letter sequence to row."""
    values: npt.NDArray[np.int8]

    def scores(self, name: str) -> npt.NDArray[np.float64] | None:
        """Return the score of each country, or None if the name has no known letters."""
        rows = [self.rows[gram] for gram in letter_grams(name) if gram in self.rows]
        if not rows:
            return None
        # Each letter occurs in one sequence of each length.
        scale = STEPS * _LONGEST_GRAM
        scores: npt.NDArray[np.float64] = self.values[rows].sum(axis=0, dtype=np.int64) / scale
        return scores


def letter_grams(name: str) -> frozenset[str]:
    """Return the sequences of one to four letters in a name; `^` and `$` are the ends of a word."""
    # Without emoji, which `anyascii` would spell out.
    letters = "".join(each if category(each)[0] in "LM" else " " for each in name[:_LONGEST_NAME])
    latin = anyascii(_HAN.sub(_split_han, letters)).lower()
    words = [f"^{word}$" for word in _WORD.findall(latin)]
    grams = {
        word[start : start + size]
        for word in words
        for size in range(1, _LONGEST_GRAM + 1)
        for start in range(len(word) - size + 1)
    }
    return frozenset(grams - {"^", "$"})


def _split_han(match: re.Match[str]) -> str:
    """Names of four characters are usually Japanese: two for each part."""
    name = match.group()
    surname = 2 if len(name) > 3 else 1
    return f" {name[:surname]} {name[surname:]} "


def name_log_odds(
    name: str,
    countries: Collection[str],
    *,
    same_language: Collection[str] = (),
    spoken_elsewhere: float = 0.0,
    place: str | None = None,
    table: NameTable | None = None,
) -> float | None:
    """Return how much more likely a name is in `countries` than among other accounts, as a logarithm.

    The other accounts are a mixture: 35 % English-speaking countries, up to 35 % countries of the same
    language (by `spoken_elsewhere`, the share of its speakers who live there), the rest evenly. If the
    profile names a `place` in another country, 80 % are from there.

    Returns None for a country without a table, or a name without letters. The table knows Japanese
    names in Latin letters only, so names in Chinese characters are no evidence about Japan.
    """
    if "JP" in countries and _HAN.search(name):
        return None
    table = table or load_table()
    own = [column for column, code in enumerate(table.countries) if code in countries]
    scores = table.scores(name)
    if not own or scores is None:
        return None
    tempered = _TEMPER * scores
    reached = _log_sum_exp(tempered[own]) - float(np.log(len(own)))
    is_same_language = [code in same_language for code in table.countries]
    tempered = np.where(
        is_same_language, np.maximum(tempered, reached - _SAME_LANGUAGE_MARGIN), tempered
    )
    mixture = _mixture(
        table.countries, frozenset(countries), frozenset(same_language), spoken_elsewhere, place
    )
    used = mixture > 0
    return reached - _log_sum_exp(tempered[used] + np.log(mixture[used]))


@lru_cache(maxsize=1_000)
def _mixture(
    codes: tuple[str, ...],
    own: frozenset[str],
    same_language: frozenset[str],
    spoken_elsewhere: float,
    place: str | None,
) -> npt.NDArray[np.float64]:
    others = [code for code in codes if code not in own]
    groups = [
        ([code for code in others if code in _ENGLISH], _SHARE_ENGLISH),
        (
            [code for code in others if code in same_language],
            _SHARE_SAME_LANGUAGE * spoken_elsewhere,
        ),
    ]
    shares = dict.fromkeys(codes, 0.0)
    for members, share in groups:
        for code in members:
            shares[code] += share / len(members)
    rest = [code for code in others if not shares[code]]
    for code in rest:
        shares[code] += (1 - sum(share for members, share in groups if members)) / len(rest)
    if place in others:
        shares = {code: (1 - _SHARE_OF_PLACE) * share for code, share in shares.items()}
        shares[place] += _SHARE_OF_PLACE
    return np.array([shares[code] for code in codes])


def _log_sum_exp(values: npt.NDArray[np.float64]) -> float:
    highest = float(values.max())
    return highest + float(np.log(np.exp(values - highest).sum()))


def unpack_table(data: bytes) -> NameTable:
    """Read a table from the numpy archive that `bowerbird evaluate profiles` writes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        countries, grams = (
            arrays[name].tobytes().decode().split() for name in ("countries", "grams")
        )
        return NameTable(
            tuple(countries), {gram: row for row, gram in enumerate(grams)}, arrays["values"]
        )


@cache
def load_table() -> NameTable:
    """Read the packaged table, once."""
    return unpack_table((files(__package__) / "names.npz").read_bytes())
