"""Reads where somebody says to be: text in, candidates out, each with a confidence.

A name alone may mean many places: the larger one is likelier, and another name beside it (`Paris, TX`) decides. What is no
place at all (`in your heart`) should give nothing: words that are also villages count only beside their region.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import structs

from bowerbird.analysis.places import phrases
from bowerbird.analysis.places.index.entries import Level
from bowerbird.analysis.places.index.gazetteer import Gazetteer, Hit
from bowerbird.analysis.places.index.names import fold
from bowerbird.analysis.places.weighing import Candidate, Mention, explains, lone_city, named_container, ranked, supported_city
from bowerbird.analysis.places.wording import IS_WORD

__all__ = ["Candidate", "Resolver"]

_LONGEST = 300
_BOTH = frozenset({"LA", "L.A", "L.A."})
"""Abbreviations of cities that are words otherwise."""
_MOST_WORDS = 4
"""Words of the longest name that is looked for inside a longer text."""


class Resolver:
    """Turns the text of a location field into candidates. The same text always gives the same."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self.resolve = lru_cache(maxsize=100_000)(self._resolve)

    def best(self, text: str, least: float = 0.5) -> Candidate | None:
        """The likeliest place, if it is likely enough."""
        found = self.resolve(text)
        return found[0] if found and found[0].confidence >= least else None

    def _resolve(self, text: str) -> tuple[Candidate, ...]:
        text = text[:_LONGEST]
        if point := phrases.point_in(text):
            near = self.gazetteer.nearest(*point)
            return (Candidate(near, 0.97, point),) if near else ()
        plain = phrases.without_noise(text)
        flags = [self._country(code) for code in phrases.flags_in(text)]
        known_flags = [hit for hit in flags if hit is not None]
        texts = [plain] if self._named(plain, 1) else phrases.alternatives(plain)
        found = [best for one in texts if (best := self._alternative(one, known_flags))]
        if not found and known_flags:
            found = [Candidate(hit.entry, 0.9) for hit in known_flags]
        return ranked(found)

    def _country(self, code: str) -> Hit | None:
        hits = self.gazetteer.find(code)
        return next((hit for hit in hits if hit.entry.level is Level.COUNTRY and hit.entry.country == code), None)

    def _alternative(self, text: str, flags: Sequence[Hit]) -> Candidate | None:
        """The likeliest place of one alternative."""
        parts = phrases.parts(text)
        mentions, left = self._mentions(parts[-4:] if len(parts) > 6 else parts)
        mentions += [Mention((hit,), 1, is_whole=True) for hit in flags]
        best = supported_city(mentions) or named_container(mentions) or lone_city(mentions)
        if best is None:
            return None
        # Words that are no place make it likelier that the name is none either: a saying, a slogan, a joke.
        left += sum(mention.words for mention in mentions if not explains(mention, best.entry))
        best = structs.replace(best, confidence=round(best.confidence * 0.88 ** min(left, 6), 3))
        return self._capital(best) if best.entry.region == "DC" else best

    def _capital(self, found: Candidate) -> Candidate:
        """Washington for its district: the two are the same."""
        cities = (hit.entry for hit in self.gazetteer.find("Washington") if hit.entry.level is Level.CITY)
        city = next((entry for entry in cities if entry.region == "DC"), found.entry)
        return structs.replace(found, entry=city) if found.entry.level is Level.REGION else found

    def _mentions(self, parts: Sequence[str]) -> tuple[list[Mention], int]:
        mentions: list[Mention] = []
        left = 0
        # Where there are no capitals at all, or nothing else, they say nothing about names.
        is_telling = any(part != part.lower() for part in parts) and any(part != part.upper() for part in parts)
        for number, part in enumerate(parts):
            if whole := self._whole(phrases.words(part), is_later=number > 0):
                mentions.append(whole)
                continue
            found, unread = self._inside(phrases.pieces(part), is_telling=is_telling)
            mentions += found
            left += unread
        return mentions, left

    def _whole(self, words: tuple[str, ...], *, is_later: bool) -> Mention | None:
        for tried in dict.fromkeys((words, phrases.trimmed(words))):
            name = " ".join(tried)
            # `Austin, tx`: after another name, two letters are an abbreviation however they are written.
            if mention := self._named(name.upper() if is_later and len(name) == 2 else name, len(tried)):
                return mention
        return None

    def _named(self, name: str, words: int, *, is_whole: bool = True) -> Mention | None:
        hits = self.gazetteer.find(name) if name else ()
        if not hits:
            return None
        is_word = fold(name) in IS_WORD
        if is_word and len(name.replace(".", "")) <= 3 and name.isupper():
            hits, is_word = tuple(hit for hit in hits if hit.is_code or name in _BOTH), False
        return Mention(hits, words, is_whole, _is_capital(name), is_word) if hits else None

    def _inside(self, words: tuple[str, ...], *, is_telling: bool) -> tuple[list[Mention], int]:
        """Names inside a longer part, longest first; and how many words are left over."""
        found: list[Mention] = []
        at, left = 0, 0
        while at < len(words):
            mention = self._at(words, at, is_telling=is_telling)
            if mention is None:
                left += not phrases.is_filler(words[at])
            else:
                found.append(mention)
            at += mention.words if mention else 1
        return found, left

    def _at(self, words: tuple[str, ...], at: int, *, is_telling: bool) -> Mention | None:
        for size in range(min(_MOST_WORDS, len(words) - at), 0, -1):
            name = " ".join(words[at : at + size])
            is_last = at and at + size == len(words)
            if is_last and not is_telling and len(name) == 2:
                name = name.upper()
            if is_telling and not _is_capital(name):
                continue
            mention = self._named(name, size, is_whole=False)
            hits = tuple(hit for hit in mention.hits if is_last or not _is_foreign_code(hit)) if mention else ()
            if mention and hits and (is_telling or not mention.is_word or is_last):
                return mention._replace(hits=hits)
        return None


def _is_foreign_code(hit: Hit) -> bool:
    """Two or three letters that stand for something outside America: inside a sentence more often just letters."""
    return hit.is_code and hit.entry.country != "US"


def _is_capital(name: str) -> bool:
    """Written as a name: with a capital, or in a script that has none."""
    first = next((mark for mark in name if mark.isalpha()), "a")
    return first != first.lower() or first.upper() == first.lower()
