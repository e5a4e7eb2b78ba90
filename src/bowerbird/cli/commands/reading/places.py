"""`bowerbird places`: says who and what belongs to the places of a crawl, what decided, and how much two places share."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.model import Source
from bowerbird.reports.counting.places import PlaceCount, Sharing, read_places


def command(place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Say who and what belongs to the places of a crawl, by what decided, and how much the places overlap (Jaccard)."""
    output = Output(as_json=as_json)
    found = find_store(place)
    places, overlaps = asyncio.run(_read(found))
    _show(output, places, overlaps)
    output.result(values_of(found.shown, places, overlaps))


async def _read(place: NamedStore) -> tuple[list[PlaceCount], list[Sharing]]:
    async with read_store(place, RealClock()) as database:
        return await read_places(database, _names(place))


def _names(place: NamedStore) -> tuple[str, ...]:
    """The places that the crawl file names, in its order."""
    if place.file is None:
        return ()
    from bowerbird.app import vocabulary
    from bowerbird.flows.files.crawl_file import read_crawl_file

    return tuple(each.area.name for each in read_crawl_file(Path(place.file), vocabulary()).places)


_WORDS = {"users": "accounts", "posts": "posts"}
"""What screens call what the store counts."""


def _show(output: Output, places: list[PlaceCount], overlaps: list[Sharing]) -> None:
    if not places:
        output.line("No places: the crawl file has no [[places]], or nothing was found to belong to one yet.")
        return
    sources = [source.value for source in Source]
    for kind in _WORDS:
        rows = [_counted(each, getattr(each, kind)) for each in places]
        output.table(f"{_WORDS[kind]}, by what decided", ("place", "all", *sources, "profile and text add"), rows)
        output.line()
    if overlaps:
        users = {each.place: each.all_users for each in places}
        posts = {each.place: each.all_posts for each in places}
        rows = [(*each.places, _jaccard(each.users, each, users), _jaccard(each.posts, each, posts)) for each in overlaps]
        output.table("overlap (Jaccard)", ("place", "and", "accounts", "posts"), rows)


def _counted(place: PlaceCount, found: dict[str, int]) -> tuple[str | int, ...]:
    gained = place.gained(found)
    more = "\N{EN DASH}" if gained is None else f"+{gained:.0%}"
    return place.place, sum(found.values()), *(found.get(source.value, 0) for source in Source), more


def _jaccard(share: float, pair: Sharing, found: dict[str, int]) -> str:
    """Two empty places share nothing, and nothing of it can be told."""
    return f"{share:.4f}" if any(found[place] for place in pair.places) else "\N{EN DASH}"


def values_of(store: str, places: list[PlaceCount], overlaps: list[Sharing]) -> dict[str, Any]:
    """The report for machines; the overlaps also as two matrices in the order of the places."""
    counts = [
        {
            "place": each.place,
            "users": {"all": each.all_users, **each.users},
            "posts": {"all": each.all_posts, **each.posts},
            "gained": {"users": each.gained(each.users), "posts": each.gained(each.posts)},
        }
        for each in places
    ]
    names = [each.place for each in places]
    return {"store": store, "places": counts, "jaccard": {kind: _matrix(names, overlaps, kind) for kind in ("users", "posts")}}


def _matrix(names: list[str], overlaps: list[Sharing], kind: str) -> dict[str, dict[str, float]]:
    shares = {each.places: float(getattr(each, kind)) for each in overlaps}
    return {
        one: {other: 1.0 if one == other else shares.get((one, other), shares.get((other, one), 0.0)) for other in names}
        for one in names
    }
