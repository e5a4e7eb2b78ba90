"""How well a name fits the names of a country: naive Bayes over the letters of its words.

The table `names.npz` holds, for each sequence of one to four letters and each country, how much more
often the sequence occurs in names of that country than in names of all countries, as a logarithm. It
holds no names: sequences that fewer than eight names contain are left out. A few hundred names do not
show all that a country shares with others of its language, so they are smoothed towards those. Build
the table again with `bowerbird evaluate profiles --data DIR --names FILE`.

Names are transliterated to Latin letters first. Names in Chinese characters are split after the first
one, which is usually the surname, because nothing separates it from the given name.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from unicodedata import category

import numpy as np
import numpy.typing as npt
from anyascii import anyascii
from msgspec import Struct

_LONGEST_GRAM = 4
STEPS = 20
"""Table values are multiples of 1/20."""
_TEMPER = 0.6
"""Neighbouring letters depend on each other, so the sum of their logarithms is too large."""
_ENGLISH = ("US", "GB", "CA", "AU")
_SAME_LANGUAGE_MARGIN = 1.5
"""A name is at most that much less likely in countries of the same language."""
_WORD = re.compile(r"[a-z]{2,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HAN_SURNAME = re.compile(r"(?<![\u4e00-\u9fff])[\u4e00-\u9fff]")


class NameTable(Struct, frozen=True):
    """Log frequency ratios of letter sequences, by country."""

    countries: tuple[str, ...]
    rows: Mapping[str, int]
    """Letter sequence to row of `values`, whose columns are the countries."""
    values: npt.NDArray[np.int8]


def letter_grams(name: str) -> frozenset[str]:
    """Return the sequences of one to four letters in a name; `^` and `$` are the ends of a word."""
    # Without emoji, which `anyascii` would spell out.
    letters = "".join(each if category(each)[0] in "LM" else " " for each in name)
    latin = anyascii(_HAN_SURNAME.sub(r" \g<0> ", letters)).lower()
    words = [f"^{word}$" for word in _WORD.findall(latin)]
    grams = {
        word[start : start + size]
        for word in words
        for size in range(1, _LONGEST_GRAM + 1)
        for start in range(len(word) - size + 1)
    }
    return frozenset(grams - {"^", "$"})


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
    rows = [table.rows[gram] for gram in letter_grams(name) if gram in table.rows]
    codes = np.array(table.countries)
    own = np.isin(codes, list(countries))
    if not rows or not own.any():
        return None
    # Each letter occurs in one sequence of each length.
    scale = _TEMPER / STEPS / _LONGEST_GRAM
    scores = scale * table.values[rows].sum(axis=0, dtype=np.int64)
    # How the other accounts are distributed over the countries.
    english = np.isin(codes, _ENGLISH) & ~own
    same = np.isin(codes, list(same_language)) & ~own
    shares = np.zeros(len(codes))
    shares[english] += 0.35 / max(1, english.sum())
    shares[same] += 0.35 * spoken_elsewhere / max(1, same.sum())
    rest = ~own & (shares == 0)
    shares[rest] = (1 - shares.sum()) / rest.sum()
    there = (codes == place) & ~own
    if there.any():
        shares = 0.2 * shares + 0.8 * there
    own_score = np.logaddexp.reduce(scores[own]) - np.log(own.sum())
    scores[same] = np.maximum(scores[same], own_score - _SAME_LANGUAGE_MARGIN)
    used = shares > 0
    return float(own_score - np.logaddexp.reduce(scores[used] + np.log(shares[used])))


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
