"""Queries and stream rules: words, hashtags and operators, joined by AND, OR, NOT and brackets, as selections over posts."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bowerbird.simulated.twitter_v1.call import account_number
from bowerbird.simulated.world.people.vocabulary import TOWNS
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.crowd import Crowd, Mask
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK, QUOTE, REPLY, REPOST
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_number
from bowerbird.simulated.x_v2.payloads import Payloads
from bowerbird.simulated.x_v2.problems import invalid
from bowerbird.simulated.x_v2.querying.operators import carried, each

_TOKEN = re.compile(r'\s*(-?\(|\)|-?"[^"]*"|-?\w+:\[[^\]]*\]|[^\s()"]+)')
_KINDS = {"retweet": REPOST, "reply": REPLY, "quote": QUOTE}
_NOBODY = -1


class Queries:
    """Reads queries as of a time. A search finds no reposts by their words (since May 2026); a stream's rule does."""

    def __init__(self, payloads: Payloads, crowd: Crowd, *, for_streams: bool = False) -> None:
        self._for_streams = for_streams
        self._write = payloads
        self._world = payloads.world
        self._crowd = crowd

    def mask(self, text: str, now: int) -> Mask:
        """Which posts of a day a query selects; a query that cannot be read is an error."""
        mask = _Reading(text, lambda word: self._term(text, word, now)).whole()
        if not _has_standalone(text):
            why = "you must include at least one operator that can stand alone"
            raise invalid("query", text, f"There were errors processing your request: {why}")
        return mask

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
                return self._conversing(int(value), now)
        if word.startswith("#"):
            return self._tagged(tag_number(word[1:]))
        if word.startswith("@"):
            return self._answering(self._account(word[1:], now))
        if (mask := carried(self._world, operator, value)) is not None:
            return mask
        if ":" in word:
            raise invalid(
                "query", text, f"There were errors processing your request: Reference to invalid operator '{operator}'."
            )
        return self._saying(word)

    def _saying(self, word: str) -> Mask:
        saying = self._world.contents.saying
        if self._for_streams:
            return lambda day: saying(np.where(day.kind == REPOST, day.target, day.number), day.event, word)
        return lambda day: saying(day.number, day.event, word) & (day.kind != REPOST)

    def _tagged(self, tag: int) -> Mask:
        if self._for_streams and tag != NO_TAG:
            return lambda day: (day.tag == tag) | (day.second_tag == tag)
        return self._crowd.with_tag(tag)

    def _conversing(self, root: int, now: int) -> Mask:
        conversations = self._write.conversations
        if self._for_streams:
            # A rule outlives the moment it was written: it has to hold for replies that are still to come.
            return each(lambda row: conversations.root(row) == root)
        members = np.array(conversations.replies(root, now), np.int64)
        return lambda day: np.isin(day.number, members)

    def _answering(self, whom: int) -> Mask:
        return lambda day: (day.kind == REPLY) & ((day.target & AUTHOR_MASK) == whom)

    def _spoken(self, language: str) -> Mask:
        towns = np.array([town.language == language for town in TOWNS])
        communities = self._world.people.community
        return lambda day: towns[communities[day.number & AUTHOR_MASK]]

    def _account(self, name: str, now: int) -> int:
        if name.isdecimal():
            known = account_number(name, len(self._world))
            return _NOBODY if known is None else known
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
            words = [self._term(word) for word in (bare.strip('"').split() if bare.startswith('"') else [bare])]
            mask = words[0] if len(words) == 1 else lambda day: _joined(np.logical_and.reduce, words, day)
        return (lambda day: ~mask(day)) if is_negated else mask

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _wrong(self) -> Exception:
        return invalid("query", self._text, "There were errors processing your request: no viable alternative at input")


def _has_standalone(text: str) -> bool:
    """Whether something in the text may stand alone: `lang:`, `is:`, `has:` and `sample:` only narrow down what others select."""
    words = (token for token in _TOKEN.findall(text) if token not in ("(", ")", "OR"))
    return any(not word.startswith(("-", "lang:", "is:", "has:", "sample:")) for word in words)


def _joined(join: Callable[..., npt.NDArray[np.bool_]], parts: list[Mask], day: Day) -> npt.NDArray[np.bool_]:
    return join([part(day) for part in parts]) if parts else np.zeros(len(day.number), bool)
