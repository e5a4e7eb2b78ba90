"""What a profile says of where somebody belongs: place, time zone, language, name, flags, words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from bowerbird.analysis.community.signs import Sign
from bowerbird.analysis.community.speaking import declared_weight
from bowerbird.analysis.community.zones import DOUBTFUL, apart, hours_from_utc, hours_of, zone_named
from bowerbird.analysis.names.fitting import name_fit
from bowerbird.analysis.places.gazetteer import fold
from bowerbird.analysis.places.resolver import Resolver, flags_in
from bowerbird.model import User
from bowerbird.model.subjects.community import Community

_LEAST = 0.45
"""A place that is less certain than this is no sign."""
_PLACE_HERE, _PLACE_ELSEWHERE, _PLACE_BOTH, _PLACE_UNCLEAR = 3.2, -3.6, 0.6, 0.3
_COMPARABLE = 0.05
"""How many people a town must have, beside a larger one of its name elsewhere, to be meant as well."""
_ONLY_NAMED = 2.4
_DESCRIBED = 0.6
"""How much a place in a description counts, beside one in the field for it."""
_ZONE_HERE, _ZONE_NEAR, _ZONE_FAR, _ZONE_DOUBTFUL = 2.0, -0.4, -1.6, -0.4
_NEAR = 1.0
"""Hours: neighbours, and those who took the nearest that they found in the list."""
_NAME_FITS, _NAME_DOES_NOT = 0.7, -0.6
_FLAG_HERE, _FLAG_ELSEWHERE, _FLAG_BOTH = 1.8, -1.2, 0.4
_WORD = 1.6
_WORDS = re.compile(r"[^\W_]+")
_NAME_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\u2019-])+")


class ProfileReader:
    """Reads profiles for one community. Pure: the same profile gives the same signs."""

    def __init__(self, community: Community, resolver: Resolver | None) -> None:
        """`resolver`: knows names of places; needed where the community has countries."""
        self._community = community
        self._resolver = resolver
        self._own = tuple(map(fold, community.own_places))
        self._other = tuple(map(fold, community.other_places))
        self._hours = tuple(hour for zone in community.zones for hour in hours_of(zone))
        self._said = lru_cache(maxsize=50_000)(self._place_in)
        # Most profiles are seen far more often than they change.
        self._read = lru_cache(maxsize=20_000)(self._signs)

    def signs(self, user: User) -> Sequence[Sign]:
        return self._read(user.location, user.time_zone, user.language, user.name, user.description)

    def _signs(self, *fields: str | None) -> tuple[Sign, ...]:
        location, zone, language, name, description = (field or "" for field in fields)
        told = (
            self._place(location),
            self._zone(zone),
            self._declared(language),
            self._name(name),
            self._flag(f"{name} {description}"),
            self._description(description),
            self._words(f"{name} {description}"),
        )
        return tuple(sign for sign in told if sign is not None)

    def _place(self, location: str) -> Sign | None:
        if not location.strip():
            return None
        folded = f" {fold(location)} "
        if name := _within(self._other, folded):
            return Sign("place", _PLACE_ELSEWHERE, name)
        if name := _within(self._own, folded):
            return Sign("place", _ONLY_NAMED, name)
        weight, told = self._said(location)
        return Sign("place", weight, told) if weight else None

    def _place_in(self, text: str) -> tuple[float, str]:
        """How much the places in a text weigh, and their names."""
        if self._resolver is None or not self._community.countries:
            return 0.0, ""
        found = [each for each in self._resolver.resolve(text) if each.confidence >= _LEAST]
        here = [each for each in found if each.entry.country in self._community.countries]
        away = [each for each in found if each not in here]
        told = ", ".join(f"{each.entry.name} ({each.entry.country})" for each in found)
        if here and away:
            return _PLACE_BOTH, told
        if away and not here and self._is_also_here(text):
            return _PLACE_UNCLEAR, f"{told}, or one here"
        weights = [_PLACE_HERE * each.confidence for each in here] + [_PLACE_ELSEWHERE * each.confidence for each in away]
        return max(weights, key=abs, default=0.0), told

    def _is_also_here(self, name: str) -> bool:
        """Whether the name alone may mean a town of the community too: Santarém is in Brazil and in Portugal."""
        hits = self._resolver.gazetteer.find(name.strip()) if self._resolver is not None else ()
        here = [hit.entry.population for hit in hits if hit.entry.country in self._community.countries and not hit.is_code]
        largest = max((hit.entry.population for hit in hits), default=0)
        return max(here, default=-1) >= _COMPARABLE * largest

    def _zone(self, named: str) -> Sign | None:
        hours = hours_from_utc(named)
        if not hours or not self._hours:
            return None
        if zone_named(named) in self._community.zones:
            return Sign("zone", _ZONE_HERE, named)
        if named in DOUBTFUL:
            return Sign("zone", _ZONE_DOUBTFUL, named)
        return Sign("zone", _ZONE_NEAR if apart(hours, self._hours) <= _NEAR else _ZONE_FAR, named)

    def _declared(self, language: str) -> Sign | None:
        weight = declared_weight(language, self._community) if language else 0.0
        return Sign("declared", weight, language) if weight else None

    def _name(self, name: str) -> Sign | None:
        fits = [fit for code in self._community.name_countries if (fit := name_fit(name, code)) is not None]
        if not fits or all(fit.fits is None for fit in fits):
            return None
        if any(fit.fits for fit in fits):
            return Sign("name", _NAME_FITS, name)
        return Sign("name", _NAME_DOES_NOT, name) if is_full_name(name) else None

    def _flag(self, text: str) -> Sign | None:
        flags = frozenset(flags_in(text))
        if not flags or not self._community.countries:
            return None
        return Sign("flag", _of_flags(flags, self._community.countries), ", ".join(sorted(flags)))

    def _description(self, text: str) -> Sign | None:
        if not text or self._resolver is None:
            return None
        found = self._resolver.in_description(text)
        if found is None or not self._community.countries:
            return None
        is_here = found.entry.country in self._community.countries
        weight = _DESCRIBED * found.confidence * (_PLACE_HERE if is_here else _PLACE_ELSEWHERE)
        return Sign("described", weight, f"{found.entry.name} ({found.entry.country})")

    def _words(self, text: str) -> Sign | None:
        said = frozenset(map(fold, _WORDS.findall(text)))
        own = [word for word in self._community.own_words if fold(word) in said]
        other = [word for word in self._community.other_words if fold(word) in said]
        if not own and not other:
            return None
        return Sign("words", _WORD * (bool(own) - bool(other)), ", ".join((*own, *other)))


def _within(names: Collection[str], folded: str) -> str:
    return next((name for name in names if f" {name} " in folded), "")


def _of_flags(flags: Collection[str], countries: Collection[str]) -> float:
    own = [flag for flag in flags if flag in countries]
    return _FLAG_ELSEWHERE if not own else _FLAG_HERE if len(own) == len(flags) else _FLAG_BOTH


def is_full_name(text: str) -> bool:
    """Whether it looks like the name of a person, as against an alias: two to four words with capitals, and nothing else."""
    words = text.split()
    return 2 <= len(words) <= 4 and all(_NAME_WORD.fullmatch(word) and word[0] != word[0].lower() for word in words)
