"""Areas in the words of networks: small boxes, and circles around boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, cos, hypot, radians

from bowerbird.errors import UserError
from bowerbird.model import Area, Box

KM_PER_DEGREE = 111.32


def parts_of(areas: Sequence[Area]) -> list[Box]:
    """The boxes of all areas, none of which crosses the date line."""
    return [part for area in areas for part in area.box.parts()]


def tiles(area: Area, side: float, most: int) -> list[Box]:
    """Boxes of at most `side` kilometres that cover the area; raises `UserError` where it takes too many."""
    grids = [_grid(box, side) for box in area.box.parts()]
    count = sum(columns * rows for columns, rows in grids)
    if count > most:
        raise UserError(
            f"the place {area.name!r} would take {count:,} small boxes on this network, which takes {most:,}",
            'write a smaller box, or by = "none" to judge only what seeds and other streams bring',
            code="too_large",
        )
    return [
        tile for box, grid in zip(area.box.parts(), grids, strict=True) for tile in _cut(box, *grid)
    ]


def _grid(box: Box, side: float) -> tuple[int, int]:
    # Where the box is nearest to the equator, a degree of longitude is longest.
    nearest = 0.0 if box.south <= 0 <= box.north else min(abs(box.south), abs(box.north))
    width = (box.east - box.west) * KM_PER_DEGREE * cos(radians(nearest))
    height = (box.north - box.south) * KM_PER_DEGREE
    return max(1, ceil(width / side)), max(1, ceil(height / side))


def _cut(box: Box, columns: int, rows: int) -> Iterator[Box]:
    x, y = _cuts(box.west, box.east, columns), _cuts(box.south, box.north, rows)
    for south, north in pairwise(y):
        for west, east in pairwise(x):
            yield Box(west, south, east, north)


def _cuts(low: float, high: float, parts: int) -> list[float]:
    return [*(low + (high - low) * part / parts for part in range(parts)), high]


def circle(box: Box) -> tuple[float, float, int]:
    """Latitude, longitude and radius in whole kilometres of a circle around the box."""
    nearest = 0.0 if box.south <= 0 <= box.north else min(abs(box.south), abs(box.north))
    width = (box.east - box.west) / 2 * KM_PER_DEGREE * cos(radians(nearest))
    height = (box.north - box.south) / 2 * KM_PER_DEGREE
    return (
        (box.south + box.north) / 2,
        (box.west + box.east) / 2,
        max(1, ceil(hypot(width, height))),
    )


def degrees(value: float) -> str:
    """Five places are a metre."""
    return f"{value:.5f}".rstrip("0").rstrip(".")
