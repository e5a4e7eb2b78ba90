"""The form of a term in which case, accents and widths of letters do not matter, and the looser one of a whole family."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache

LONGEST_PHRASE = 3
"""In words: longer ones are seldom written twice, and every length costs as much as the first."""
LONGEST_TERM = 100
"""In characters: the longest hashtag that any network takes."""

_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h", "\u2019": "'"}
)
"""Letters with strokes and the like, which no decomposition takes apart, and the apostrophe of printers."""
_ACCENTS = re.compile("[\u0300-\u036f]")
"""Marks of Latin, Greek and Cyrillic letters; those of other scripts are vowels or change the letter, and stay."""
_PLURALS = (
    *(("coes", "cao"), ("soes", "sao"), ("aes", "ao"), ("eis", "el"), ("aux", "al")),
    *(("ies", "y"), ("ves", "f"), ("oes", "o"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x")),
)
"""Endings of plurals and singulars in folded letters: Portuguese and French first, which English ones are parts of."""


class Kind(StrEnum):
    """What a term is, seen from its form: `#flood`, `flood`, `bow river`, `@mayor`."""

    HASHTAG = "hashtag"
    WORD = "word"
    PHRASE = "phrase"
    ACCOUNT = "account"


def fold(text: str) -> str:
    """Small letters without accents, in one width; the letters of a text that is plain ASCII keep their places."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold()).translate(_PLAIN)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


@lru_cache(maxsize=100_000)
def term_form(written: str) -> str:
    """The normal form of a term as somebody wrote it: `#London2012` is `#london2012`, `Bow  River` is `bow river`. Empty where
    nothing can be looked for: signs alone, a phrase that is too long, or one with a hashtag or an account in it."""
    from bowerbird.model.terms.reading import tokens

    found = tokens(fold(written.strip()))
    is_term = found and len(found) <= LONGEST_PHRASE and all(len(each) <= LONGEST_TERM for each in found)
    if len(found) > 1 and any(each[0] in "#@" for each in found):
        return ""
    return " ".join(found) if is_term else ""


def kind_of(term: str) -> Kind:
    if term.startswith("#"):
        return Kind.HASHTAG
    if term.startswith("@"):
        return Kind.ACCOUNT
    return Kind.PHRASE if " " in term else Kind.WORD


@lru_cache(maxsize=100_000)
def family(term: str) -> str:
    """What singular and plural, `ü` and `ue`, `#bowriver` and `bow river` have in common. Loose: it says who may be relatives,
    never that two terms are the same."""
    words = term.lstrip("#@").split(" ")
    return "".join(_singular(word).replace("ae", "a").replace("oe", "o").replace("ue", "u") for word in words)


def _singular(word: str) -> str:
    for plural, one in _PLURALS:
        if word.endswith(plural) and len(word) > len(plural) + 2:
            return word.removesuffix(plural) + one
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
