"""One spelling for every way to write a name: what the index is built with is what it is asked with."""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b

_DROPPED = re.compile(r"[.'\u2019\u2018`\u00b4\u02bb]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SPACED = re.compile(r"[\W_]+")
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "\u0131": "i", "æ": "ae", "Æ": "ae"}
)
_SHORT = {"st": "saint", "ste": "sainte", "ft": "fort", "mt": "mount", "pt": "point"}


def fold(text: str) -> str:
    """The name without case, accents and punctuation, words apart by one space."""
    if not text.isascii():
        marked = unicodedata.normalize("NFKD", text.translate(_LETTERS))
        # Only Latin, Greek and Cyrillic letters lose their marks: elsewhere the marks are vowels or voices.
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", marked))
    return _SPACED.sub(" ", _DROPPED.sub("", text).casefold()).strip()


def spellings(folded: str) -> tuple[str, ...]:
    """The folded name, and the same with `st`, `ft`, `mt` written out."""
    first, _, rest = folded.partition(" ")
    return (folded, f"{_SHORT[first]} {rest}") if rest and first in _SHORT else (folded,)


def code(text: str) -> str:
    """The key of an abbreviation, which counts only in capitals: `NY` is a place and `ny` may be anything."""
    return f"={text}"


def number_of(key: str) -> int:
    """Eight bytes that stand for a key in the index; two of millions of keys share them with a chance of one in a million."""
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest(), "little")
