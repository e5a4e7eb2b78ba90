"""The terms of a post: its hashtags, words, phrases and mentions, each once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

from msgspec import Struct

from bowerbird.model.terms.forms import fold

_FIRST_MARK, _LAST_MARK = 0x0300, 0xFE30
_JOINERS = "\u200c\u200d\u00b7"
"""Which may stand inside a hashtag or a word: of Persian and Indic scripts, and of Catalan."""


class Reading(Struct, frozen=True, gc=False):
    """A post's text in normal form, and what it is made of in the order in which it was written."""

    tokens: tuple[str, ...]
    """Words, `#hashtags` and `@mentions`; links are left out."""

    @property
    def hashtags(self) -> set[str]:
        return {token for token in self.tokens if token[0] == "#"}


def read_text(text: str, tags: Iterable[str] = (), author: str = "") -> Reading:
    """Reads a text; `tags` are hashtags that the service names, also where the text does not show them; `author` is a handle."""
    found = tokens(fold(text))
    if tags:
        found += [tag for each in tags if (tag := "#" + fold(each).lstrip("#")) not in found]
    if author:
        found.append("@" + fold(author.lstrip("@")))
    return Reading(tuple(found))


def tokens(folded: str) -> list[str]:
    """Words, hashtags and mentions of a text in normal form. A hashtag of digits alone is none: `#1`."""
    return [token for token in _pattern().findall(folded) if token]


@cache
def _pattern() -> re.Pattern[str]:
    """Letters, digits and marks of every script: `re` counts the vowel signs of Indic scripts as no part of a word."""
    letters = rf"\w{_marks()}{_JOINERS}"
    tag = rf"(?<![\w&])#(?=[\d_]*[^\W\d_])[{letters}]+"
    handle = r"\w(?:[\w.\-]*\w)?"
    mention = rf"(?<!\w)@{handle}(?:@{handle})?"
    word = rf"\w[{letters}]*(?:'\w+)*"
    # Bluesky's apps show links without https://, so that a domain before a slash is one too: news.site/story.
    link = r"(?:https?://|www\.)\S+|(?<![\w@])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/\S*"
    return re.compile(rf"{link}|({tag}|{mention}|{word})")


@cache
def _marks() -> str:
    """The combining marks of all scripts as ranges of a character class."""
    runs: list[list[int]] = []
    for code in range(_FIRST_MARK, _LAST_MARK):
        if unicodedata.category(chr(code)).startswith("M"):
            if runs and runs[-1][1] == code - 1:
                runs[-1][1] = code
            else:
                runs.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


def phrases(found: Sequence[str], longest: int) -> list[str]:
    """Neighbouring words, two to `longest` of them; hashtags and mentions end a phrase."""
    made = [f"{one} {next_one}" for one, next_one in pairwise(found) if one[0] not in "#@" and next_one[0] not in "#@"]
    for length in range(3, longest + 1):
        parts = (found[start : start + length] for start in range(len(found) - length + 1))
        made += [" ".join(part) for part in parts if all(word[0] not in "#@" for word in part)]
    return made
