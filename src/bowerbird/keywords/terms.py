"""The terms of a post, terms that belong together, and posts whose texts are the same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

from bowerbird.model.terms import Reading, family

PREFIX_WORDS = 8
"""Words by which two texts count as the same: reposts are cut, or get an addition at the end."""
MIN_LETTERS = 3
_REPOST_WORDS = frozenset({"rt", "via"})


def list_terms(reading: Reading) -> set[str]:
    """Return what a keyword may be: hashtags, words, and pairs of neighbouring words.

    The word of a hashtag counts as a word, because a keyword without # matches both."""
    terms = {token for token in reading.tokens if token[0] != "@"}
    terms.update(tag[1:] for tag in reading.hashtags)
    terms.update(f"{one} {other}" for one, other in pairwise(reading.tokens) if one[0] not in "#@" and other[0] not in "#@")
    return terms


def list_features(reading: Reading) -> list[str]:
    """Return the words and hashtags by which posts are compared, each once."""
    return list(dict.fromkeys([token for token in reading.tokens if token[0] != "@"]))


@lru_cache(maxsize=20_000)
def is_specific(term: str) -> bool:
    """True if some part has at least three letters and is not a number."""
    return any(sum(map(str.isalpha, word)) >= MIN_LETTERS for word in term.lstrip("#@").split(" "))


def kin_families(terms: Iterable[str]) -> frozenset[str]:
    """Return the families of terms and of their words: what occurs wherever these terms do."""
    return frozenset(family(each) for term in terms for each in (term, *term.split(" ")))


def is_implied(term: str, keywords: Iterable[str]) -> bool:
    """True if every post with the term matches a keyword: `#flood` and `flood alert` of `flood`."""
    words = set(term.split(" ")) if term[0] != "#" else {term, term[1:]}
    return any(keyword in words for keyword in keywords)


def text_key(reading: Reading) -> int:
    """Return a number that is the same for a text and for its reposts."""
    words = [token for token in reading.tokens if token[0] != "@" and token not in _REPOST_WORDS]
    return crc32(" ".join(words[:PREFIX_WORDS]).encode())
