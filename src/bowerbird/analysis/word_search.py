"""Find words in texts, and collect their near spellings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

MAX_WORDS = 100
MAX_WORD_LENGTH = 100
MARKS = "".join(chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code))[0] == "M")
"""Accents and vowel signs, which belong to the letter before them although `\\w` excludes them."""
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese letters: blanks do not separate these words."""
_WORD = re.compile(rf"(?:\w[{MARKS}]*)+")
_REPEATED = re.compile(r"(.)\1+")


def word_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds the words as whole words, in upper or lower case.

    Any blanks may separate the words of a phrase. A word is also found as a hashtag; a word written with `#` only as one.
    """
    ordered = sorted({word.strip() for word in words if word.strip()}, key=lambda word: (-len(word), word))
    patterns = []
    for word in ordered:
        inner = r"\s+".join(re.escape(each) for each in word.split())
        begin = "" if re.match(f"[{_UNSPACED}]", word) else rf"(?<![^\W{_UNSPACED}])(?<![{MARKS}])"
        is_closed = re.search(rf"[\w{MARKS}]$", word) and not re.search(f"[{_UNSPACED}]$", word)
        end = rf"(?![^\W{_UNSPACED}]|[{MARKS}])" if is_closed else ""
        patterns.append(f"{begin}{inner}{end}")
    return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


def clean_words(words: Iterable[str]) -> list[str]:
    """Return the words in the order given, without duplicates, empty words and superfluous blanks."""
    unique = dict.fromkeys(" ".join(word.split()) for word in words)
    return [word for word in unique if word]


def fold_spelling(text: str) -> str:
    """Return the letters without case, accents and repetitions: what two spellings have in common."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    # The marks after the accents are vowels in other scripts.
    letters = (each for each in decomposed if each.isalnum() or (each in MARKS and each > "\u036f"))
    return _REPEATED.sub(r"\1", "".join(letters))


class Spellings:
    """Counts near spellings of some words, with the authors who use them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._known = {" ".join(word.casefold().removeprefix("#").split()) for word in words}
        # One letter, such as that of `C++`, resembles too much.
        self._folded = {folded for word in words if len(folded := fold_spelling(word)) > 1}
        self._phrases = [[fold_spelling(each) for each in word.split()] for word in words if len(word.split()) > 1]
        self._lengths = sorted({len(word.split()) for word in words} | {1})
        self._is_near = lru_cache(maxsize=200_000)(self._resembles_known)
        self._authors: defaultdict[str, set[int]] = defaultdict(set)
        self._posts: Counter[str] = Counter()

    def add(self, text: str, author: int) -> None:
        """Count the near spellings in a post."""
        words = _WORD.findall(text.casefold())
        lengths = [(length, place) for length in self._lengths for place in range(len(words) - length + 1)]
        for spelling in {" ".join(words[place : place + length]) for length, place in lengths}:
            if self._is_near(spelling):
                self._authors[spelling].add(author)
                self._posts[spelling] += 1

    def common(self, people: int, most: int) -> list[tuple[str, int, int]]:
        """Return spelling, posts and authors of those that at least `people` authors use, most frequent first."""
        rows = [(spelling, self._posts[spelling], len(who)) for spelling, who in self._authors.items() if len(who) >= people]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:most]

    def _resembles_known(self, spelling: str) -> bool:
        """Compare a single word with all words, also with phrases written without blanks; compare a phrase word by word."""
        if spelling in self._known:
            return False
        parts = [fold_spelling(each) for each in spelling.split()]
        if len(parts) == 1:
            return any(_is_similar(parts[0], known) for known in self._folded)
        return any(len(parts) == len(phrase) and all(map(_is_similar, parts, phrase)) for phrase in self._phrases)


def _is_similar(one: str, other: str) -> bool:
    """Return True if two folded words may be the same name: the first letter is the same and few others differ."""
    if one == other:
        return True
    # Words with fewer than four letters have no near spellings; from eight letters on, two may differ.
    shorter = min(len(one), len(other))
    allowed = 0 if shorter < 4 else 1 if shorter < 8 else 2
    may_be = allowed > 0 and abs(len(one) - len(other)) <= allowed and one[0] == other[0]
    return may_be and edit_distance(one, other) <= allowed


def edit_distance(one: str, other: str) -> int:
    """Return the number of letters to change, insert, delete or swap with a neighbour."""
    lines = [list(range(len(other) + 1))]
    for row, letter in enumerate(one, 1):
        above, line = lines[-1], [row]
        for column, opposite in enumerate(other, 1):
            cost = min(above[column] + 1, line[-1] + 1, above[column - 1] + (letter != opposite))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == opposite:
                cost = min(cost, lines[-2][column - 2] + 1)
            line.append(cost)
        lines.append(line)
    return lines[-1][-1]
