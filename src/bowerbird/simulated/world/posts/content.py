"""What a post says: text, language, media, visibility, all drawn from the post's own number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bowerbird.simulated.world.hashing import Words, mix, mix_many, unit
from bowerbird.simulated.world.nations.tongues import NAMES, STYLES, Tongues
from bowerbird.simulated.world.people.profiles import Profiles
from bowerbird.simulated.world.people.vocabulary import TOWNS, VOCABULARY, Town
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_name

WORDS_PER_DRAW = 10
_BITS = 6
_SELDOM_PUBLIC = 0.025
"""64 words per language: ten of them from one random number."""


class Content(Struct, frozen=True, gc=False):
    """The body of one post; a repost has none of its own."""

    words: str
    language: str | None
    tags: tuple[str, ...]
    mentions: tuple[int, ...]
    """Accounts named at the start of the text."""
    link: str
    pictures: int
    is_sensitive: bool
    visibility: str
    edited_ms: int
    """0 if never edited."""
    place: tuple[float, float] | None
    """Longitude and latitude."""
    source: int


class Contents:
    """Writes the body of any post."""

    def __init__(
        self,
        seed: int,
        communities: npt.NDArray[np.int16],
        profiles: Profiles,
        reticent: float = 0.0,
        tongues: Tongues | None = None,
    ) -> None:
        """`tongues`: what posts are written in, where people of one town do not all write the same."""
        self._seed = seed
        self._tongues = tongues
        self._reticent = reticent
        self._communities = communities
        self.profiles = profiles

    def of(self, row: Row) -> Content:
        draw = mix(row.number, self._seed ^ 0xC0)
        town = self.town(row.author)
        language = self.language(row.number)
        mentions = (author_of(row.target),) if row.kind == REPLY else ()
        return Content(
            words="" if row.kind == REPOST else self.words(row.number, self.style(row.number)),
            language=language if draw % 20 else None,
            tags=() if row.kind == REPOST else tuple(tag_name(tag) for tag in (row.tag, row.second_tag) if tag != NO_TAG),
            mentions=mentions,
            link=f"https://news.example/{draw % 9973}" if (draw >> 8) % 8 == 0 else "",
            pictures=max(0, (draw >> 16) % 16 - 13) if row.kind != REPOST else 0,
            is_sensitive=(draw >> 24) % 50 == 0,
            visibility="public" if row.kind == REPOST else self.visibility(row.number),
            edited_ms=row.ms + 60_000 + (draw >> 30) % 3_600_000 if (draw >> 52) % 32 == 0 and row.kind != REPOST else 0,
            place=_near(town, draw) if (draw >> 57) % 32 == 0 else None,
            source=(draw >> 40) & 0xFF,
        )

    def visibility(self, number: int) -> str:
        return visibility(number, self._seed, self._reticent)

    def town(self, account: int) -> Town:
        return TOWNS[int(self._communities[account])]

    def style(self, number: int) -> str:
        """What the words of a post are drawn from."""
        return self.town(author_of(number)).language if self._tongues is None else NAMES[self._tongues.of(number)]

    def language(self, number: int) -> str:
        return self.style(number).split("-")[0]

    def words(self, number: int, language: str) -> str:
        vocabulary = VOCABULARY[language] if self._tongues is None else STYLES[language]
        chosen = [vocabulary[(draw >> (_BITS * k)) & 63] for draw, count in _draws(number) for k in range(count)]
        return ("" if language == "ja" else " ").join(chosen)

    def saying(self, numbers: npt.NDArray[np.int64], word: str) -> npt.NDArray[np.bool_]:
        """Which of these posts contain a word of the vocabulary, whole and in any case."""
        found = np.zeros(len(numbers), bool)
        codes = self._all_codes(word)
        if not any(codes):
            return found
        kinds = self._communities[numbers & AUTHOR_MASK] if self._tongues is None else self._tongues.of_many(numbers)
        for place, counts, draws in _draw_columns(numbers):
            has = _has_code(draws, place, counts, codes, kinds)
            found |= has
        return found

    def _all_codes(self, word: str) -> list[tuple[int, ...]]:
        """By what posts are drawn from, the places of a word in it."""
        if self._tongues is None:
            return [_codes(word, VOCABULARY[town.language]) for town in TOWNS]
        return [_codes(word, STYLES[name]) for name in NAMES]


def visibility(number: int, seed: int, reticent: float = 0.0) -> str:
    """How openly a post was sent, on networks that ask; `reticent`: the share of accounts that show most to followers alone."""
    share = unit(mix(number, seed ^ 0x715))
    if reticent and unit(mix(author_of(number), seed ^ 0x9E7)) < reticent:
        return "public" if share < _SELDOM_PUBLIC else "private"
    return "public" if share < 0.9 else "unlisted" if share < 0.97 else "private"


def _codes(word: str, vocabulary: Sequence[str]) -> tuple[int, ...]:
    return tuple(code for code, entry in enumerate(vocabulary) if word.lower() in entry.lower().split())


def _draws(number: int) -> tuple[tuple[int, int], tuple[int, int]]:
    length = 4 + mix(number, 31) % 15
    return (mix(number, 32), min(length, WORDS_PER_DRAW)), (mix(number, 33), max(0, length - WORDS_PER_DRAW))


def _draw_columns(numbers: npt.NDArray[np.int64]) -> tuple[tuple[int, Words, Words], ...]:
    length = np.uint64(4) + mix_many(numbers, 31) % np.uint64(15)
    return (0, length, mix_many(numbers, 32)), (WORDS_PER_DRAW, length, mix_many(numbers, 33))


def _has_code(
    draws: Words, place: int, lengths: Words, codes: list[tuple[int, ...]], towns: npt.NDArray[np.int16]
) -> npt.NDArray[np.bool_]:
    table = np.zeros((len(codes), 64), bool)
    for town, wanted in enumerate(codes):
        table[town, list(wanted)] = True
    found = np.zeros(len(draws), bool)
    for k in range(WORDS_PER_DRAW):
        code = ((draws >> np.uint64(_BITS * k)) & np.uint64(63)).astype(np.int64)
        found |= table[towns, code] & (lengths > np.uint64(place + k))
    return found


def _near(town: Town, draw: int) -> tuple[float, float]:
    return round(town.longitude + (draw % 2000 - 1000) / 5000, 5), round(town.latitude + ((draw >> 12) % 2000 - 1000) / 5000, 5)
