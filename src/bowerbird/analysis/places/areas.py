"""The area that a name in a crawl file means."""

from __future__ import annotations

from bowerbird.analysis.places.index.entries import Level
from bowerbird.analysis.places.resolver import Resolver
from bowerbird.errors import UserError
from bowerbird.model import Area, Box

_MARGIN = 0.05
"""Degrees around the outermost towns of a country or region."""


def area_named(name: str, resolver: Resolver) -> Area:
    """The city, region or country of that name; raises `UserError` where none is clear enough."""
    found = resolver.best(name, 0.45)
    box = found.entry.box if found else None
    if found is None or box is None:
        example = "box = [-9.5, 38.6, -9.0, 38.9]"
        raise UserError(f"no city, region or country called {name!r} is known; write west, south, east, north: {example}")
    entry = found.entry
    if entry.level is Level.CITY:
        return Area(name=name, box=box)
    return Area(name=name, box=_around(box), country=entry.country, region=entry.region)


def _around(box: Box) -> Box:
    return Box(
        max(box.west - _MARGIN, -180.0),
        max(box.south - _MARGIN, -90.0),
        min(box.east + _MARGIN, 180.0),
        min(box.north + _MARGIN, 90.0),
    )
