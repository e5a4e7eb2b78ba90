"""Places in profiles, as evidence for countries: the location field, descriptions and flags."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from bowerbird.analysis.places.gazetteer import fold
from bowerbird.analysis.places.resolver import flags_in, open_resolver
from bowerbird.model.subjects.community import Community

_MIN_CONFIDENCE = 0.45
_CERTAIN = 0.75
_COMPARABLE = 0.05
"""Share of the people of a larger town of the same name elsewhere, from which a town may be meant."""
_HERE, _BOTH, _UNCLEAR, _UNRESOLVED, _AWAY, _AWAY_UNCERTAIN = 3.9, 0.6, 0.0, -0.2, -2.4, -1.7
_DESCRIBED_HERE, _DESCRIBED_AWAY = 2.0, -1.2
_FLAG_HERE, _FLAG_BOTH, _FLAG_AWAY = 2.0, 0.4, -1.2


class Location(Struct, frozen=True):
    """Evidence of a place in a text: a log-likelihood ratio, and the country if it is another one."""

    ratio: float
    found: str
    away: str | None = None
    """The country, where the place is not in the community's countries."""


class LocationReader:
    """Reads places for one community."""

    def __init__(self, community: Community, cache: Path) -> None:
        """`cache`: the folder of the place index, which is built there if it is missing."""
        self._countries = community.countries
        self._own = tuple(map(fold, community.own_places))
        self._other = tuple(map(fold, community.other_places))
        self._resolver = open_resolver(cache) if community.countries else None
        self.location = lru_cache(maxsize=50_000)(self._location)

    def _location(self, text: str) -> Location | None:
        """Return the evidence of the location field; None if it is empty or the community has no places."""
        if not text.strip() or not (self._countries or self._own or self._other):
            return None
        folded = f" {fold(text)} "
        if name := _first_within(self._other, folded):
            return Location(_AWAY, name)
        if name := _first_within(self._own, folded):
            return Location(_HERE, name)
        if self._resolver is None:
            return Location(_UNRESOLVED, text[:60])
        places = [
            each for each in self._resolver.resolve(text) if each.confidence >= _MIN_CONFIDENCE
        ]
        if not places:
            return Location(_UNRESOLVED, text[:60])
        found = ", ".join(f"{each.entry.name} ({each.entry.country})" for each in places)
        away = [each for each in places if each.entry.country not in self._countries]
        if not away:
            return Location(_HERE, found)
        if len(away) < len(places):
            return Location(_BOTH, found)
        if self._is_also_here(text):
            return Location(_UNCLEAR, f"{found}, or one here")
        best = max(away, key=lambda each: each.confidence)
        ratio = _AWAY if best.confidence >= _CERTAIN else _AWAY_UNCERTAIN
        return Location(ratio, found, best.entry.country)

    def _is_also_here(self, name: str) -> bool:
        """Return whether the name may mean a town of the community too, as Santarém does."""
        hits = self._resolver.gazetteer.find(name.strip()) if self._resolver else ()
        here = (
            hit.entry.population
            for hit in hits
            if hit.entry.country in self._countries and not hit.is_code
        )
        largest = max((hit.entry.population for hit in hits), default=0)
        return max(here, default=-1) >= _COMPARABLE * largest

    def description(self, text: str) -> Location | None:
        """Return the evidence of a place in a description."""
        place = self._resolver.in_description(text) if text and self._resolver else None
        if place is None:
            return None
        is_here = place.entry.country in self._countries
        found = f"{place.entry.name} ({place.entry.country})"
        return Location(_DESCRIBED_HERE if is_here else _DESCRIBED_AWAY, found)

    def flags(self, text: str) -> Location | None:
        """Return the evidence of flags of countries."""
        flags = frozenset(flags_in(text)) if self._countries else frozenset()
        if not flags:
            return None
        own = flags & frozenset(self._countries)
        ratio = _FLAG_AWAY if not own else _FLAG_HERE if own == flags else _FLAG_BOTH
        return Location(ratio, ", ".join(sorted(flags)))


def _first_within(names: Collection[str], folded: str) -> str:
    return next((name for name in names if f" {name} " in folded), "")
