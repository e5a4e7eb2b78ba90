"""Search queries: words, hashtags and a few operators, joined by AND, OR, NOT and brackets, as selections over a day's posts."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bowerbird.simulated.world.cascades import Day
from bowerbird.simulated.world.crowd import Crowd, Mask
from bowerbird.simulated.world.rows import AUTHOR_MASK, QUOTE, REPLY, REPOST
from bowerbird.simulated.world.tags import tag_number
from bowerbird.simulated.world.words import TOWNS
from bowerbird.simulated.x_v2.payloads import Payloads
from bowerbird.simulated.x_v2.problems import invalid

_TOKEN = re.compile(r'\s*(-?\(|\)|-?"[^"]*"|[^\s()"]+)')
_KINDS = {"retweet": REPOST, "reply": REPLY, "quote": QUOTE}
_NOBODY = -1


class Queries:
    """Reads queries as of a time."""

    def __init__(self, payloads: Payloads, crowd: Crowd) -> None:
        self._write = payloads
        self._world = payloads.world
        self._crowd = crowd

    def mask(self, text: str, now: int) -> Mask:
        """Which posts of a day a query selects; a query that cannot be read is an error."""
        return _Reading(text, lambda word: self._term(text, word, now)).whole()

    def _term(self, text: str, word: str, now: int) -> Mask:
        operator, _, value = word.partition(":")
        match operator:
            case "from":
                author = self._account(value, now)
                return lambda day: (day.number & AUTHOR_MASK) == author
            case "to":
                return self._answering(self._account(value, now))
            case "is" if value in _KINDS:
                return lambda day: day.kind == _KINDS[value]
            case "lang":
                return self._spoken(value)
            case "conversation_id" if value.isdecimal() and len(value) <= 19:
                members = np.array(self._write.conversations.replies(int(value), now), np.int64)
                return lambda day: np.isin(day.number, members)
        if word.startswith("#"):
            return self._crowd.with_tag(tag_number(word[1:]))
        if word.startswith("@"):
            return self._answering(self._account(word[1:], now))
        if ":" in word:
            raise invalid(
                "query", text, f"There were errors processing your request: Reference to invalid operator '{operator}'."
            )
        # Since May 2026 keyword search returns no reposts.
        return lambda day: self._world.contents.saying(day.number, word) & (day.kind != REPOST)

    def _answering(self, whom: int) -> Mask:
        return lambda day: (day.kind == REPLY) & ((day.target & AUTHOR_MASK) == whom)

    def _spoken(self, language: str) -> Mask:
        towns = np.array([town.language == language for town in TOWNS])
        communities = self._world.people.community
        return lambda day: towns[communities[day.number & AUTHOR_MASK]]

    def _account(self, name: str, now: int) -> int:
        if name.isdecimal():
            return _NOBODY
        account = self._world.profiles.account_of(name.lstrip("@"), now)
        return _NOBODY if account is None else account


class _Reading:
    """One query from left to right; AND binds closer than OR."""

    def __init__(self, text: str, term: Callable[[str], Mask]) -> None:
        self._text, self._term = text, term
        self._tokens = _TOKEN.findall(text)
        self._place = 0

    def whole(self) -> Mask:
        mask = self._either()
        if self._place < len(self._tokens):
            raise self._wrong()
        return mask

    def _either(self) -> Mask:
        parts = [self._all()]
        while self._next() == "OR":
            self._place += 1
            parts.append(self._all())
        return lambda day: _joined(np.logical_or.reduce, parts, day)

    def _all(self) -> Mask:
        parts: list[Mask] = []
        while self._next() not in ("", "OR", ")"):
            parts.append(self._one())
        if not parts:
            raise self._wrong()
        return lambda day: _joined(np.logical_and.reduce, parts, day)

    def _one(self) -> Mask:
        written = self._tokens[self._place]
        self._place += 1
        is_negated = len(written) > 1 and written.startswith("-")
        bare = written[1:] if is_negated else written
        if bare == "(":
            mask = self._either()
            if self._next() != ")":
                raise self._wrong()
            self._place += 1
        else:
            words = [self._term(word) for word in bare.strip('"').split()]
            mask = words[0] if len(words) == 1 else lambda day: _joined(np.logical_and.reduce, words, day)
        return (lambda day: ~mask(day)) if is_negated else mask

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _wrong(self) -> Exception:
        return invalid("query", self._text, "There were errors processing your request: no viable alternative at input")


def _joined(join: Callable[..., npt.NDArray[np.bool_]], parts: list[Mask], day: Day) -> npt.NDArray[np.bool_]:
    return join([part(day) for part in parts]) if parts else np.zeros(len(day.number), bool)
