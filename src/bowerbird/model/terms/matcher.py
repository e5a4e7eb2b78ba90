"""Which of many keywords a post carries, at a cost that does not grow with their number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from bowerbird.model.terms.forms import fold, kind_of
from bowerbird.model.terms.reading import Reading, read_text

# Without it every post is read as a whole, which takes ten times as long and finds the same.
with suppress(ImportError):
    from ahocorasick_rs import AhoCorasick

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese letters: they stand without spaces between them, words are parts of runs."""


class Matcher:
    """Keywords in normal form that are looked for together.

    A hashtag is a hashtag, whole; an account is mentioned, or wrote the post, and `@alice` is one of any server; a word stands
    alone or as a hashtag; the words of a phrase follow each other. Words of scripts without spaces may stand anywhere."""

    def __init__(self, keywords: Collection[str]) -> None:
        self.keywords = frozenset(keywords)
        self._by_token: dict[str, tuple[str, ...]] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._parts = tuple(each for each in self.keywords if each[0] not in "#@" and _UNSPACED.search(each))
        self._has_accounts = any(each[0] == "@" for each in self.keywords)
        for keyword in sorted(self.keywords):
            self._learns(keyword)
        self._tokens = frozenset(self._by_token) | frozenset(self._phrases)
        has_finder = "AhoCorasick" in globals() and bool(self.keywords)
        self._finder = AhoCorasick([_needle(each) for each in self.keywords]) if has_finder else None

    def found(self, text: str, tags: Iterable[str] = (), author: str = "") -> tuple[Reading, set[str]] | None:
        """The post as it reads, with the keywords that it carries; None if it carries none. What has no part of a keyword in it
        is not even read: of a full stream nearly everything."""
        if not (tags or author) and self._finder and not self._finder.find_matches_as_indexes(fold(text)):
            return None
        reading = read_text(text, tags, author)
        keywords = self.matched(reading)
        return (reading, keywords) if keywords else None

    def _learns(self, keyword: str) -> None:
        words = tuple(keyword.split(" "))
        if len(words) > 1:
            self._phrases.setdefault(words[0], []).append((words, keyword))
            return
        for token in (keyword,) if keyword[0] in "#@" else (keyword, "#" + keyword):
            self._by_token[token] = (*self._by_token.get(token, ()), keyword)

    def matched(self, reading: Reading) -> set[str]:
        """The keywords that the post carries."""
        found: set[str] = set()
        seen = self._tokens.intersection(reading.tokens)
        if self._has_accounts:
            seen |= self._tokens.intersection(each.rpartition("@")[0] for each in reading.tokens if each.rfind("@") > 0)
        for token in seen:
            found.update(self._by_token.get(token, ()))
            if token in self._phrases:
                found.update(self._whole_phrases(token, reading.tokens))
        if self._parts:
            whole = " ".join(reading.tokens)
            found.update(each for each in self._parts if each in whole)
        return found

    def _whole_phrases(self, first: str, tokens: tuple[str, ...]) -> Iterable[str]:
        starts = [index for index, token in enumerate(tokens) if token == first]
        for words, keyword in self._phrases[first]:
            if any(tokens[start : start + len(words)] == words for start in starts):
                yield keyword

    def matches(self, text: str, tags: Iterable[str] = (), author: str = "") -> bool:
        return self.found(text, tags, author) is not None


def _needle(keyword: str) -> str:
    """What a text must have in it to carry the keyword, wherever: of a phrase its longest word."""
    return max(keyword.split(" "), key=len)


def overlapping(term: str, other: str) -> bool:
    """Whether a post with one of these always has the other too: `#flood` and `flood`, `bow river` and `river`. Then the one
    tells nothing about the other."""
    if kind_of(term) == kind_of(other) == "hashtag":
        return term == other
    mine, theirs = term.lstrip("#").split(" "), other.lstrip("#").split(" ")
    return set(mine) <= set(theirs) or set(theirs) <= set(mine)
