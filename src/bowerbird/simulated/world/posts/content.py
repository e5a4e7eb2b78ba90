"""What a post says: text, language, media, visibility, all drawn from the post's own number."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bowerbird.simulated.world.hashing import mix, mix_many, unit
from bowerbird.simulated.world.nations.tongues import NAMES, STYLES, Tongues
from bowerbird.simulated.world.people.profiles import Profiles
from bowerbird.simulated.world.people.vocabulary import COMMON, TOWNS, Town
from bowerbird.simulated.world.posts.event_words import all_words
from bowerbird.simulated.world.posts.events import saying_of_events, with_event_terms
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.posts.tags import NO_EVENT, NO_TAG, tag_name

_FEWEST, _LENGTHS = 4, 15
"""Posts have 4 to 18 words, and those of their event."""
LONGEST = _FEWEST + _LENGTHS - 1
_SELDOM_PUBLIC = 0.025
_CODES = 1 << 12
_FLATTENING = 2.7
"""Of the Zipf-Mandelbrot law: the word of rank r has a share proportional to 1 / (r + 2.7), as in texts of people."""
_EVENT_WORDS = 0.02
"""Share of words that posts about nothing in particular take from those of events."""


def _zipf(language: str) -> tuple[str, ...]:
    """Return as many words as there are codes, each as often as people use it."""
    common, rare = COMMON[language], [word for word in all_words(language) if word not in COMMON[language]]
    weights = 1 / (np.arange(1, len(common) + 1) + _FLATTENING)
    shares = np.concatenate([weights / weights.sum() * (1 - _EVENT_WORDS), np.full(len(rare), _EVENT_WORDS / len(rare))])
    places = np.searchsorted(np.cumsum(shares), (np.arange(_CODES) + 0.5) / _CODES)
    return tuple((*common, *rare)[place] for place in places.tolist())


_ZIPF = {language: _zipf(language) for language in COMMON}
_STYLE_OF_TOWN = np.array([tuple(_ZIPF).index(town.language) for town in TOWNS])


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
        # Worlds with varieties of languages write with 64 equally frequent words and phrases of each.
        self._vocabularies = _ZIPF if tongues is None else STYLES
        self._styles = tuple(self._vocabularies)
        self._bits = (len(self._vocabularies["en"]) - 1).bit_length()
        self._reticent = reticent
        self._communities = communities
        self.profiles = profiles

    def of(self, row: Row) -> Content:
        draw = mix(row.number, self._seed ^ 0xC0)
        town = self.town(row.author)
        language = self.language(row.number)
        mentions = (author_of(row.target),) if row.kind == REPLY else ()
        return Content(
            words="" if row.kind == REPOST else self.words(row.number, self.style(row.number), row.event),
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

    def words(self, number: int, style: str, event: int = NO_EVENT) -> str:
        """What the author says: words in a style, and those of the event that the post is about."""
        vocabulary = self._vocabularies[style]
        length, per_draw = _FEWEST + mix(number, 31) % _LENGTHS, 64 // self._bits
        draws = [mix(number, 32 + nth) for nth in range(-(-length // per_draw))]
        codes = (draws[nth // per_draw] >> (self._bits * (nth % per_draw)) for nth in range(length))
        said = [vocabulary[code & (len(vocabulary) - 1)] for code in codes]
        language = style.split("-")[0]
        if event == NO_EVENT:
            return ("" if language == "ja" else " ").join(said)
        if language == "ja":
            # Here the event's words are set apart from the others, so that every crawler can tell them.
            said = ["".join(said)]
        return " ".join(with_event_terms(said, number, event, language))

    def saying(self, numbers: npt.NDArray[np.int64], events: npt.NDArray[np.integer[Any]], word: str) -> npt.NDArray[np.bool_]:
        """Which of these posts contain a word, whole and in any case; `events`: what they are about."""
        styles = self._styles_of(numbers)
        has_word = _codes_with(word.lower(), is_mixed=self._tongues is not None)
        found = np.zeros(len(numbers), bool)
        if has_word.any():
            lengths, per_draw = _FEWEST + mix_many(numbers, 31) % np.uint64(_LENGTHS), 64 // self._bits
            for nth in range(LONGEST):
                if nth % per_draw == 0:
                    draws = mix_many(numbers, 32 + nth // per_draw)
                codes = (draws >> np.uint64(self._bits * (nth % per_draw))) & np.uint64(has_word.shape[1] - 1)
                found |= has_word[styles, codes.astype(np.int64)] & (lengths > nth)
        languages = tuple(name.split("-")[0] for name in self._styles)
        return found | saying_of_events(numbers, events, styles, languages, word)

    def _styles_of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.integer[Any]]:
        """The places in `_styles` of what posts are written in."""
        if self._tongues is not None:
            return self._tongues.of_many(numbers)
        styles: npt.NDArray[np.integer[Any]] = _STYLE_OF_TOWN[self._communities[numbers & AUTHOR_MASK]]
        return styles


@lru_cache(maxsize=500)
def _codes_with(word: str, *, is_mixed: bool) -> npt.NDArray[np.bool_]:
    """Return by style and code whether it stands for a word, alone or in a phrase."""
    vocabularies = (STYLES if is_mixed else _ZIPF).values()
    return np.array([[word in entry.lower().split() for entry in vocabulary] for vocabulary in vocabularies])


def visibility(number: int, seed: int, reticent: float = 0.0) -> str:
    """How openly a post was sent, on networks that ask; `reticent`: the share of accounts that show most to followers alone."""
    share = unit(mix(number, seed ^ 0x715))
    if reticent and unit(mix(author_of(number), seed ^ 0x9E7)) < reticent:
        return "public" if share < _SELDOM_PUBLIC else "private"
    return "public" if share < 0.9 else "unlisted" if share < 0.97 else "private"


def _near(town: Town, draw: int) -> tuple[float, float]:
    return round(town.longitude + (draw % 2000 - 1000) / 5000, 5), round(town.latitude + ((draw >> 12) % 2000 - 1000) / 5000, 5)
