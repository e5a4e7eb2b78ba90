"""One place of the index: a country, a region or a city."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from bowerbird.model import Box


class Level(IntEnum):
    COUNTRY = 1
    REGION = 2
    CITY = 3


class Entry(Struct, frozen=True, gc=False, kw_only=True):
    """A place as the index knows it; `number` is its row."""

    number: int
    level: Level
    name: str
    country: str
    """ISO 3166-1 alpha-2."""
    region: str = ""
    """The first-level division in the numbering of GeoNames; empty where it is not known."""
    population: int = 0
    longitude: float | None = None
    latitude: float | None = None
    box: Box | None = None
    """How far a country or region reaches, as its towns lie; a city's is a square around its middle."""

    def fits(self, container: Entry) -> bool:
        """Whether this place lies in that country or region, as far as the index can tell."""
        if self.country != container.country:
            return False
        is_vague = container.level is Level.COUNTRY or not container.region or not self.region
        return is_vague or self.region == container.region
