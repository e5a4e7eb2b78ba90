"""Operators of the query language that look at single posts: what they carry, where they are from, which conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import cos, hypot, radians

import numpy as np

from bowerbird.simulated.world import World
from bowerbird.simulated.world.hashing import mix_many
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.crowd import Mask
from bowerbird.simulated.world.posts.rows import REPOST, Row

Holds = Callable[[Row], bool]

_BOX = re.compile(r"\[\s*(-?[\d.]+)[\s,]+(-?[\d.]+)[\s,]+(-?[\d.]+)[\s,]+(-?[\d.]+)\s*\]")
_CIRCLE = re.compile(r"\[\s*(-?[\d.]+)[\s,]+(-?[\d.]+)[\s,]+([\d.]+)(km|mi)\s*\]")
_CARRIED: dict[str, Callable[[Content], bool]] = {
    "images": lambda content: content.pictures > 0,
    "media": lambda content: content.pictures > 0,
    "links": lambda content: bool(content.link),
    "hashtags": lambda content: bool(content.tags),
    "mentions": lambda content: bool(content.mentions),
    "geo": lambda content: content.place is not None,
}


def carried(world: World, operator: str, value: str) -> Mask | None:
    """The selection of an operator about what posts carry; None if it is no such operator, or its value cannot be read."""
    if operator == "has" and value in _CARRIED:
        return each(lambda row: row.kind != REPOST and _CARRIED[value](world.contents.of(row)))
    if operator == "bounding_box" and (box := _BOX.fullmatch(value)):
        west, south, east, north = (float(edge) for edge in box.groups())
        return each(lambda row: _is_inside(world.contents.of(row), row, (west, south, east, north)))
    if operator == "point_radius" and (circle := _CIRCLE.fullmatch(value)):
        longitude, latitude, radius = (float(number) for number in circle.groups()[:3])
        reach = radius * (1.609 if circle[4] == "mi" else 1.0)
        return each(lambda row: _is_within(world.contents.of(row), row, (longitude, latitude, reach)))
    if operator == "place_country" and len(value) == 2:
        return each(lambda row: row.kind != REPOST and _is_from(world, row, value.upper()))
    if operator == "sample" and value.isdecimal() and 1 <= int(value[:4]) <= 100:
        share = np.uint64(int(value))
        return lambda day: mix_many(day.number, 95) % np.uint64(100) < share
    return None


def each(holds: Holds) -> Mask:
    """A selection that looks at every post by itself."""
    return lambda day: np.fromiter((holds(row) for row in _rows(day)), bool, len(day.number))


def _is_inside(content: Content, row: Row, box: tuple[float, float, float, float]) -> bool:
    if content.place is None or row.kind == REPOST:
        return False
    longitude, latitude = content.place
    return box[0] <= longitude <= box[2] and box[1] <= latitude <= box[3]


def _is_within(content: Content, row: Row, circle: tuple[float, float, float]) -> bool:
    """Whether a post has a point within so many kilometres of another."""
    if content.place is None or row.kind == REPOST:
        return False
    east = (content.place[0] - circle[0]) * cos(radians(circle[1]))
    return hypot(east, content.place[1] - circle[1]) * 111.32 <= circle[2]


def _is_from(world: World, row: Row, country: str) -> bool:
    return world.contents.of(row).place is not None and world.contents.town(row.author).code == country


def _rows(day: Day) -> Iterator[Row]:
    columns = (day.number, day.kind, day.target, day.tag, day.second_tag, day.gone_at, day.event)
    return (Row(*values) for values in zip(*(column.tolist() for column in columns), strict=True))
