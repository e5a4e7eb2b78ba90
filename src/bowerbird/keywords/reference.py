"""How frequent a term is in ordinary posts, by a table that is part of the package.

`reference.bin` contains the greatest relative frequency of each word over 15 languages, counted in
82,000 tweets of 2013 and later that have nothing to do with an event. Words of one or two posts
are left out, as are mentions and links. Function words of other languages have an assumed
frequency; they are from stopwords-iso (https://github.com/stopwords-iso/stopwords-iso, copyright
Gene Diaz, MIT licence). `benchmarks/keyword_reference.py` builds the table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from math import exp, log
from zlib import compress, decompress

LOWEST_SHARE = 2e-5
"""The share of posts that is assumed for terms that are not in the table."""
WORD_FACTOR, BIGRAM_FACTOR, HASHTAG_FACTOR = 12.0, 3.6, 0.6
"""From the relative frequency of a word to the share of posts with the term."""
_STEPS_PER_E = 10.0
_FILE = "reference.bin"


@lru_cache(maxsize=100_000)
def ordinary_share(term: str) -> float:
    """Return the share of ordinary posts that contain the term."""
    table = load_table()
    if term[0] == "#":
        return max(LOWEST_SHARE, HASHTAG_FACTOR * table.get(term[1:], 0.0))
    words = term.split(" ")
    frequency = min(table.get(word, 0.0) for word in words)
    factor = WORD_FACTOR if len(words) == 1 else BIGRAM_FACTOR
    return max(LOWEST_SHARE, factor * frequency)


@cache
def load_table() -> dict[str, float]:
    return decode_table(files(__package__).joinpath(_FILE).read_bytes())


def encode_table(frequencies: Mapping[str, float]) -> bytes:
    """Encode relative frequencies, rounded to steps of 10 %: the words of each step, then the next."""
    by_step: dict[int, list[str]] = {}
    for word, frequency in sorted(frequencies.items()):
        by_step.setdefault(round(-log(frequency) * _STEPS_PER_E), []).append(word)
    lines = (f"{step} {' '.join(words)}" for step, words in sorted(by_step.items()))
    return compress("\n".join(lines).encode(), 9)


def decode_table(content: bytes) -> dict[str, float]:
    table: dict[str, float] = {}
    for line in decompress(content).decode().split("\n"):
        step, *words = line.split(" ")
        table.update(dict.fromkeys(words, exp(-int(step) / _STEPS_PER_E)))
    return table
