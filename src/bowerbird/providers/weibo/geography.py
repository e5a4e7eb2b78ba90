"""Areas on Weibo: what was posted around points that cover them; there are no streams."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import Area, Geography
from bowerbird.providers.places import degrees, tiles

WAYS = ("search",)
_RADIUS = 11_132
"""Metres: the most that a search around a point reaches."""
_SIDE = 15.7
"""Kilometres: a square of this side lies within such a circle."""
_MOST = 400


def geography(areas: Sequence[Area], way: str) -> Geography:
    """The areas as points to search around."""
    squares = [tile for area in areas for tile in tiles(area, _SIDE, _MOST)]
    points = ((degrees((tile.south + tile.north) / 2), degrees((tile.west + tile.east) / 2)) for tile in squares)
    return Geography(searches=tuple(("nearby", f"{y},{x}") for y, x in points), hints={"range": str(_RADIUS)})
