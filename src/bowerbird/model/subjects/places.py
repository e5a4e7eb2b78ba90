"""Places: the areas a crawl is about, and how an account or a post came to belong to one."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from bowerbird.model.work.streams import Subscription


class Box(Struct, frozen=True, gc=False):
    """A rectangle in degrees; one that crosses the date line has its west side east of its east side."""

    west: float
    south: float
    east: float
    north: float

    def holds(self, longitude: float, latitude: float) -> bool:
        return self.south <= latitude <= self.north and any(
            part.west <= longitude <= part.east for part in self.parts()
        )  # fmt: skip

    def parts(self) -> Iterator[Box]:
        """The same area as rectangles that do not cross the date line."""
        if self.west <= self.east:
            yield self
            return
        yield Box(self.west, self.south, 180.0, self.north)
        yield Box(-180.0, self.south, self.east, self.north)

    def covers(self, other: Box) -> bool:
        corners = ((other.west, other.south), (other.east, other.north))
        is_turned = other.west > other.east and self.west <= self.east
        return not is_turned and all(self.holds(*corner) for corner in corners)


class Area(Struct, frozen=True, kw_only=True):
    """A place as a crawl means it: a box, or a country or region of which the box is only the extent."""

    name: str
    box: Box
    country: str = ""
    """ISO code; set when the country (or a region of it) is meant and not the box around it."""
    region: str = ""


class Source(StrEnum):
    """What decided where something is, strongest first."""

    COORDINATES = "coordinates"
    """The post carries a point."""
    PLACE = "place"
    """The post is tagged with a named place."""
    PROFILE = "profile"
    """The location that an account gives in its profile."""
    TEXT = "text"
    """What the post, or the account's description, says in words."""

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return list(Source).index(self)


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """One area that an account or a post belongs to, and why."""

    area: str
    source: Source
    confidence: float
    longitude: float | None = None
    latitude: float | None = None


class Geography(Struct, frozen=True, kw_only=True):
    """How a network is asked about areas: a subscription, searches (facet and target), or both."""

    stream: Subscription | None = None
    searches: tuple[tuple[str, str], ...] = ()
    hints: dict[str, str] = {}
    """For the facets that search."""
    hosts: dict[str, str] = {}
    """By the address that answers, the one that streams, where the network has two."""
