"""Whether a text mentions one of several words, and which other spellings of them occur. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

MOST_WORDS = 100
LONGEST_WORD = 100
_WORD = re.compile(r"\w+")
_TWICE = re.compile(r"(.)\1+")
_MEMORY = 200_000
"""Written forms that are remembered as looked at."""
_SHORT, _LONG = 4, 8
"""Words of fewer letters have no near spellings (they are other words); from so many on two letters may differ."""


def pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Finds the words as whole words, whatever their case; in phrases any blanks may stand between them. A word is also found as
    a hashtag, and one that is written with `#` only so."""
    ordered = sorted({word.strip() for word in words if word.strip()}, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(_spelled, ordered)) or r"(?!)", re.IGNORECASE)


def _spelled(word: str) -> str:
    inner = r"\s+".join(re.escape(each) for each in word.split())
    end = r"(?!\w)" if word[-1].isalnum() or word[-1] == "_" else ""
    return rf"(?<!\w){inner}{end}"


def folded(text: str) -> str:
    """Without case, accents, blanks and repeated letters: what two spellings of one name share."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(each for each in plain if each.isalnum())
    return _TWICE.sub(r"\1", letters)


class Spellings:
    """Collects how else some words are written, and by how many people each spelling is."""

    def __init__(self, words: Sequence[str]) -> None:
        self._known = {" ".join(word.casefold().removeprefix("#").split()) for word in words}
        self._folded = {folded(word) for word in words} - {""}
        self._phrases = [[folded(each) for each in word.split()] for word in words if len(word.split()) > 1]
        self._lengths = sorted({len(word.split()) for word in words} | {1})
        self._verdicts: dict[str, bool] = {}
        self.found: defaultdict[str, set[int]] = defaultdict(set)
        self.posts: defaultdict[str, int] = defaultdict(int)

    def look(self, text: str, author: int) -> None:
        for written in set(self._grams(text)):
            if self._is_near(written):
                self.found[written].add(author)
                self.posts[written] += 1

    def common(self, people: int, most: int) -> list[tuple[str, int, int]]:
        """Spellings that at least so many people use: as written, posts, people; the most frequent first."""
        rows = [(written, self.posts[written], len(who)) for written, who in self.found.items() if len(who) >= people]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:most]

    def _grams(self, text: str) -> Iterator[str]:
        words = _WORD.findall(text.casefold())
        for length in self._lengths:
            yield from (" ".join(words[place : place + length]) for place in range(len(words) - length + 1))

    def _is_near(self, written: str) -> bool:
        verdict = self._verdicts.get(written)
        if verdict is None:
            verdict = written not in self._known and self._resembles(written)
            if len(self._verdicts) < _MEMORY:
                self._verdicts[written] = verdict
        return verdict

    def _resembles(self, written: str) -> bool:
        """A phrase word by word: else an inner word of it could be any other. One word also if it is a phrase without blanks."""
        parts = [folded(each) for each in written.split()]
        if len(parts) == 1:
            return any(_near(parts[0], known) for known in self._folded)
        alike = (phrase for phrase in self._phrases if len(phrase) == len(parts))
        return any(all(map(_near, parts, phrase)) for phrase in alike)


def _near(one: str, other: str) -> bool:
    """Whether two folded forms may be the same name: few letters differ, and the first does not."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    allowed = 0 if shorter < _SHORT else 1 if shorter < _LONG else 2
    return (
        bool(allowed)
        and abs(len(one) - len(other)) <= allowed
        and one[0] == other[0]
        and distance(one, other, allowed) <= allowed
    )


def distance(one: str, other: str, most: int) -> int:
    """Letters that must be changed, added, left out or exchanged with their neighbour; anything beyond `most` is `most + 1`."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, opposite in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != opposite))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == opposite:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        if min(line) > most:
            return most + 1
        before, last = last, line
    return last[-1]


def cleaned(words: Iterable[str]) -> list[str]:
    """Words as they were written, each once; whoever asks has checked that there are some."""
    found = dict.fromkeys(" ".join(word.split()) for word in words)
    return [word for word in found if word]
