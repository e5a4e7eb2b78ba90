"""The `[[places]]` of a crawl file: the areas it is about, and how each service is asked about them.

[[places]]
name = "Lisbon"
box = [-9.5, 38.6, -9.0, 38.9]
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct, structs

from bowerbird.errors import FlowError, UserError
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import Vocabulary
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.model import Area, Box, Service

PLACE_KEYS = ("name", "box", "where", "by", "every")
WAYS = ("stream", "search", "none")
_STREAM = "places"
"""Name of the stream that hears the places of a service."""


class PlacePlan(Struct, frozen=True, kw_only=True):
    """One area, and how it is to be asked for."""

    area: Area
    by: str = ""
    """One of `WAYS`; empty: the better one that the network has."""
    every: timedelta | None = None
    """Searches are made again after this time; None: once."""


class SearchPlan(Struct, frozen=True, kw_only=True):
    """Searches for the places on one service, all of one facet."""

    service: str
    facet: str
    targets: tuple[str, ...]
    hints: dict[str, str] = {}
    every: timedelta | None = None


class PlaceSources(Struct, frozen=True, kw_only=True):
    """What the places of a crawl file come to."""

    places: tuple[PlacePlan, ...] = ()
    streams: tuple[StreamPlan, ...] = ()
    searches: tuple[SearchPlan, ...] = ()


def place_sources(table: Table, services: Sequence[Service], vocabulary: Vocabulary, *, listens: bool) -> PlaceSources:
    """The places of a crawl file; where it names streams of its own, none is added for places that do not ask for it."""
    tables = table.tables("places")
    if not tables:
        return PlaceSources()
    places = tuple(_place(inner, vocabulary) for inner in tables)
    names = [place.area.name for place in places]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise tables[number].wrong("name", f"two places are called {name!r}", "give each its own name", code="already_exists")
    streams: list[StreamPlan] = []
    searches: list[SearchPlan] = []
    for service in services:
        by_way = {way: [p for p in places if _way(p, service, vocabulary, listens) == way] for way in WAYS}
        try:
            streams += _streams(by_way["stream"], service, vocabulary)
            searches += _searches(by_way["search"], service, vocabulary)
        except UserError as error:
            asked = [(tables[places.index(p)], p, way) for way in WAYS for p in by_way[way]]
            raise _blamed(error, asked, service, vocabulary) from None
    return PlaceSources(places=places, streams=tuple(streams), searches=tuple(searches))


def _blamed(
    error: UserError, asked: Sequence[tuple[Table, PlacePlan, str]], service: Service, vocabulary: Vocabulary
) -> FlowError:
    """The error at the line of the place that is refused also when it is asked about alone, or else of the last one."""
    table = asked[-1][0]
    for own, place, way in asked:
        try:
            if way != "none":
                vocabulary.geography(service.provider, [place.area], way)
        except UserError:
            table = own
            break
    key = next((key for key in ("box", "where", "name") if key in table.values), None)
    return table.failed(key, error)


def _place(table: Table, vocabulary: Vocabulary) -> PlacePlan:
    table.only(PLACE_KEYS, "a place")
    name = table.required("name", 'name = "Lisbon"')
    by = table.text("by")
    if by and by not in WAYS:
        raise table.wrong("by", f"unknown way {by!r}{meant(by, WAYS)}", f"allowed: {listed(WAYS)}", code="unknown_name")
    return PlacePlan(area=_area(table, name, vocabulary), by=by, every=table.span("every"))


def _area(table: Table, name: str, vocabulary: Vocabulary) -> Area:
    if "box" in table.values:
        return Area(name=name, box=_box(table))
    try:
        return structs.replace(vocabulary.area(table.text("where", name)), name=name)
    except UserError as error:
        raise table.failed("where" if "where" in table.values else "name", error) from None


def _box(table: Table) -> Box:
    sides = table.values["box"]
    is_four = isinstance(sides, list) and len(sides) == 4 and all(type(side) in (int, float) for side in sides)
    if not is_four or not _is_on_earth(*map(float, sides)):
        raise table.wrong(
            "box", f"box must be [west, south, east, north] in degrees, such as [-9.5, 38.6, -9.0, 38.9], not {sides!r:.60}"
        )
    return Box(*map(float, sides))


def _is_on_earth(west: float, south: float, east: float, north: float) -> bool:
    return -180 <= west <= 180 and -180 <= east <= 180 and west != east and -90 <= south < north <= 90


def _way(place: PlacePlan, service: Service, vocabulary: Vocabulary, listens: bool) -> str:
    """How a network is asked about a place: as the file says, or as it can."""
    ways = vocabulary.place_ways.get(service.provider, ())
    if place.by:
        return place.by if place.by in ways else "none"
    wanted = [way for way in ways if not (listens and way == "stream")]
    return wanted[0] if wanted else "none"


def _streams(places: Sequence[PlacePlan], service: Service, vocabulary: Vocabulary) -> list[StreamPlan]:
    if not places:
        return []
    asked = vocabulary.geography(service.provider, [place.area for place in places], "stream")
    if asked.stream is None:
        return []
    host = structs.replace(service, base=asked.hosts.get(service.base, service.base))
    return [StreamPlan(subscription=structs.replace(asked.stream, name=_STREAM), service=service, host=host)]


def _searches(places: Sequence[PlacePlan], service: Service, vocabulary: Vocabulary) -> list[SearchPlan]:
    if not places:
        return []
    asked = vocabulary.geography(service.provider, [place.area for place in places], "search")
    every = min((place.every for place in places if place.every), default=None)
    by_facet: dict[str, list[str]] = {}
    for facet, target in asked.searches:
        by_facet.setdefault(facet, []).append(target)
    return [
        SearchPlan(service=service.name, facet=facet, targets=tuple(targets), hints=asked.hints, every=every)
        for facet, targets in by_facet.items()
    ]
