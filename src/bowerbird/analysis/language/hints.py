"""What tells European from Brazilian Portuguese: hints written by hand (hints.toml), found in a text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files

from msgspec import Struct

EUROPEAN = "pt-PT"
BRAZILIAN = "pt-BR"

_WORD = re.compile(r"[a-zà-öø-ÿ]+(?:-[a-zà-öø-ÿ]+)*")
_EDGES = " .!?…,;:"


class Hint(Struct, frozen=True):
    """One way in which the varieties differ; everything that shows it counts alike."""

    name: str
    side: str
    prior: float
    words: frozenset[str] = frozenset()
    spellings: tuple[re.Pattern[str], ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()

    @property
    def sign(self) -> int:
        return 1 if self.side == EUROPEAN else -1


@cache
def hints() -> Mapping[str, Hint]:
    """All hints by name, in the order of the file."""
    told = tomllib.loads((files(__package__) / "hints.toml").read_text("utf-8"))
    return {
        name: Hint(
            name,
            each["side"],
            each["prior"],
            frozenset(each.get("words", ())),
            tuple(map(re.compile, each.get("spellings", ()))),
            tuple(map(re.compile, each.get("patterns", ()))),
        )
        for name, each in told.items()
    }


def found(text: str) -> Iterator[tuple[str, str]]:
    """The hints in a cleaned text, each as often as it is there: its name, and the words that show it."""
    text = text.lower()
    for word in _WORD.findall(text):
        for name in _in_word(word):
            yield name, word
    for name, pattern in _patterns():
        for match in pattern.finditer(text):
            yield name, match.group().strip(_EDGES)


@lru_cache(maxsize=50_000)
def _in_word(word: str) -> tuple[str, ...]:
    """A word that is listed counts as that, whatever its spelling."""
    if word in _by_word():
        return (_by_word()[word],)
    return tuple(hint.name for hint in hints().values() if any(each.fullmatch(word) for each in hint.spellings))


@cache
def _by_word() -> Mapping[str, str]:
    return {word: hint.name for hint in hints().values() for word in hint.words}


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((hint.name, pattern) for hint in hints().values() for pattern in hint.patterns)
