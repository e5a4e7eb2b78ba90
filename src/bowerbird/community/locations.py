"""Places in profiles, as evidence for countries: the location field, descriptions and flags."""

from __future__ import annotations

import re
from pathlib import Path

from bowerbird.analysis.places.gazetteer import fold
from bowerbird.analysis.places.resolver import Resolver, flags_in, open_resolver
from bowerbird.community.membership import Sign
from bowerbird.model.subjects.community import Community

LOCATION, DESCRIPTION_PLACE, FLAG = "place", "described", "flag"
"""Kinds of signs, as evidence stores them."""
_MIN_CONFIDENCE = 0.45
_CERTAIN = 0.75
_COMPARABLE = 0.05
"""Share of the people of a larger town of the same name elsewhere, from which a town may be meant."""
_PARTS = re.compile(r"[,()]|\s*[-\u2013]\s*")


class LocationReader:
    """Reads places for one community. The weights of signs are listed in `profiles.py`."""

    def __init__(self, community: Community, cache: Path) -> None:
        """`cache`: the folder of the place index, which is built there if it is missing."""
        self._countries = frozenset(community.countries)
        self._own = tuple(map(fold, community.own_places))
        self._other = tuple(map(fold, community.other_places))
        self._resolver = open_resolver(cache) if community.countries else None

    def location(self, text: str) -> tuple[Sign | None, str | None]:
        """Read the location field; return its sign, and the country if it is not one of the community's."""
        folded = f" {fold(text)} "
        for names, weight in ((self._other, -2.8), (self._own, 3.5)):
            for name in names:
                if f" {name} " in folded:
                    return Sign(LOCATION, weight, name), None
        if self._resolver is None or not text.strip():
            return None, None
        resolved = self._resolver.resolve(text)
        places = [each for each in resolved if each.confidence >= _MIN_CONFIDENCE]
        if not places:
            return Sign(LOCATION, -0.2, text[:60]), None
        found = ", ".join(f"{each.entry.name} ({each.entry.country})" for each in places)
        away = [each for each in places if each.entry.country not in self._countries]
        if not away:
            return Sign(LOCATION, 3.5, found), None
        if len(away) < len(places):
            return Sign(LOCATION, 0.5, found), None
        best = max(away, key=lambda each: each.confidence)
        if self._is_also_here(self._resolver, text, best.entry.country):
            return None, None
        weight = -2.8 if best.confidence >= _CERTAIN else -1.5
        return Sign(LOCATION, weight, found), best.entry.country

    def _is_also_here(self, resolver: Resolver, text: str, away: str) -> bool:
        """Return whether a town of the community may be meant too, as in `Braga - Tokyo` or `Santarém`.

        `away`: the country that was found. In `Parma, Ohio`, no town of Italy is meant.
        """
        for part in (text, *_PARTS.split(text)):
            towns = [hit.entry for hit in resolver.gazetteer.find(part.strip()) if not hit.is_code]
            here = [town.population for town in towns if town.country in self._countries]
            is_there = part != text and any(town.country == away for town in towns)
            largest = max((town.population for town in towns), default=0)
            if here and not is_there and max(here) >= _COMPARABLE * largest:
                return True
        return False

    def description(self, text: str) -> Sign | None:
        """Return the sign of a place in a description."""
        place = self._resolver.in_description(text) if text and self._resolver else None
        if place is None:
            return None
        weight = 2.0 if place.entry.country in self._countries else -1.2
        return Sign(DESCRIPTION_PLACE, weight, f"{place.entry.name} ({place.entry.country})")

    def flags(self, text: str) -> Sign | None:
        """Return the sign of flags of countries."""
        flags = frozenset(flags_in(text))
        if not flags or not self._countries:
            return None
        own = flags & self._countries
        weight = -1.2 if not own else 2.0 if own == flags else 0.4
        return Sign(FLAG, weight, ", ".join(sorted(flags)))
