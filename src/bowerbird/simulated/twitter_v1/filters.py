"""What a filtered stream is asked for: words, accounts and boxes; a Tweet that fits any of them is sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import cos, hypot, radians

from msgspec import Struct

from bowerbird.simulated.twitter_v1.call import account_number
from bowerbird.simulated.twitter_v1.call import refuse as invalid
from bowerbird.simulated.wire import Params, RefusedError, Reply
from bowerbird.simulated.world import World
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row, author_of

Box = tuple[float, float, float, float]
"""West, south, east, north."""

_MOST_PHRASES, _LONGEST_PHRASE, _MOST_ACCOUNTS, _MOST_BOXES = 400, 60, 5_000, 25
_AROUND = 0.2
"""How far a place reaches from its middle, in degrees."""
_KM_PER_DEGREE = 111.32
_WORD = re.compile(r"\w+")


def refuse(status: int, text: str) -> RefusedError:
    """The streaming hosts answer in plain words."""
    return RefusedError(Reply(status, f"{text}\r\n".encode(), {"content-type": "text/plain"}))


class Filter(Struct, frozen=True):
    """One subscription, read and checked."""

    phrases: tuple[frozenset[str], ...]
    accounts: frozenset[int]
    boxes: tuple[Box, ...]
    languages: frozenset[str]

    def fits(self, row: Row, world: World) -> bool:
        said = (world.row(row.target, row.ms) or row) if row.kind == REPOST else row
        content = world.contents.of(said)
        if self.languages and world.contents.town(said.author).language not in self.languages:
            return False
        return self._is_followed(row) or self._is_near(row, content, world) or self._is_said(row, said, content, world)

    def _is_followed(self, row: Row) -> bool:
        """What they write, and what answers or passes on what they wrote; mentions do not count."""
        refers = row.kind in (REPLY, REPOST) and author_of(row.target) in self.accounts
        return refers or row.author in self.accounts

    def _is_near(self, row: Row, content: Content, world: World) -> bool:
        """The point lies in a box, or the place overlaps one."""
        if content.place is None or row.kind == REPOST or not self.boxes:
            return False
        town, (x, y) = world.contents.town(row.author), content.place
        west, east = min(x, town.longitude - _AROUND), max(x, town.longitude + _AROUND)
        south, north = min(y, town.latitude - _AROUND), max(y, town.latitude + _AROUND)
        return any(box[0] <= east and west <= box[2] and box[1] <= north and south <= box[3] for box in self.boxes)

    def _is_said(self, row: Row, said: Row, content: Content, world: World) -> bool:
        if not self.phrases:
            return False
        words = _words(said, content, world)
        if row.kind == REPOST:
            words |= _named(world.profiles.at(said.author, row.ms).handle, "@")
        return any(phrase <= words for phrase in self.phrases)


def read_filter(params: Params, world: World) -> Filter:
    """The filter of a request; refuses what the real service refuses."""
    phrases = [each.strip().lower() for each in params.get("track").split(",") if each.strip()]
    keys = [each.strip() for each in params.get("follow").split(",") if each.strip()]
    boxes = _boxes(params.get("locations"))
    if not phrases and not keys and not boxes:
        raise refuse(406, "No filter parameters found. Expect at least one parameter: follow track locations")
    if len(phrases) > _MOST_PHRASES or len(keys) > _MOST_ACCOUNTS or len(boxes) > _MOST_BOXES:
        raise refuse(413, "Parameter list too long: at most 400 track keywords, 5,000 follow userids and 25 location boxes")
    if any(len(phrase.encode()) > _LONGEST_PHRASE for phrase in phrases) or not all(key.isdecimal() for key in keys):
        raise refuse(406, "Parameter track or follow contains an item that is too long or not a number")
    accounts = (account_number(key, len(world)) for key in keys)
    return Filter(
        phrases=tuple(frozenset(phrase.split()) for phrase in phrases),
        accounts=frozenset(account for account in accounts if account is not None),
        boxes=boxes,
        languages=frozenset(filter(None, params.get("language").split(","))),
    )


def _boxes(text: str) -> tuple[Box, ...]:
    try:
        sides = [float(each) for each in text.split(",") if each.strip()]
    except ValueError:
        raise refuse(406, "Parameter locations has a number that cannot be read") from None
    boxes = [(sides[k], sides[k + 1], sides[k + 2], sides[k + 3]) for k in range(0, len(sides) - 3, 4)]
    if len(sides) % 4 or any(box[0] >= box[2] or box[1] >= box[3] for box in boxes):
        raise refuse(416, "Location track items must be given as pairs of comma separated lat/longs")
    return tuple(boxes)


def _words(row: Row, content: Content, world: World) -> set[str]:
    """Everything a phrase is compared with: words, hashtags and names with and without their sign, parts of links."""
    words = set(_WORD.findall(f"{content.words} {content.link}".lower()))
    for tag in content.tags:
        words |= _named(tag, "#")
    for account in content.mentions:
        words |= _named(world.profiles.at(account, row.ms).handle, "@")
    return words


def _named(name: str, sign: str) -> set[str]:
    return {name.lower(), sign + name.lower()}


def near(written: str, world: World) -> Callable[[Row], bool]:
    """Whether a post lies in the circle `latitude,longitude,radius` of a search; without one, every post does."""
    if not written:
        return lambda row: True
    circle = re.fullmatch(r"(-?[\d.]+),(-?[\d.]+),([\d.]+)(km|mi)", written)
    if circle is None:
        raise invalid(195)
    latitude, longitude, radius = (float(number) for number in circle.groups()[:3])
    reach = radius * (1.609 if circle[4] == "mi" else 1.0)

    def is_near(row: Row) -> bool:
        place = world.contents.of(row).place if row.kind != REPOST else None
        east = (place[0] - longitude) * cos(radians(latitude)) if place else 0.0
        return place is not None and hypot(east, place[1] - latitude) * _KM_PER_DEGREE <= reach

    return is_near
