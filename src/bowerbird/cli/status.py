"""`bowerbird status`: says how a crawl stands, while it runs and afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bowerbird.cli.crew import Member, living
from bowerbird.cli.output import JsonFlag, Output
from bowerbird.cli.place import Place, PlaceArgument, find_place, opened_place
from bowerbird.cli.standing import Standing, show_standing
from bowerbird.clock import RealClock
from bowerbird.store.reader import Reader
from bowerbird.store.standing import read_standing


def command(place: PlaceArgument = None, as_json: JsonFlag = False) -> None:
    """Say how a crawl stands: its state and processes, what is stored, what waits, limits, errors. Changes nothing.

    Counts of large tables are estimates and carry a ~.
    """
    output = Output(as_json=as_json)
    found = find_place(place)
    standing = asyncio.run(_read(found))
    show_standing(output, found, standing)
    output.result(_values(found, standing))


async def _read(place: Place) -> Standing:
    clock = RealClock()
    async with opened_place(place, clock) as database:
        async with database.reading() as tx:
            crew = await living(tx, None, clock.now())
        summary = await Reader(database).summary(errors=5)
        return Standing(now=clock.now(), crew=tuple(crew), summary=summary, more=await read_standing(database))


def _values(place: Place, standing: Standing) -> dict[str, Any]:
    summary: dict[str, Any] = msgspec.to_builtins(standing.summary)
    for crawl in summary["crawls"]:
        crawl["flow"] = msgspec.json.decode(crawl["flow"])["name"]
    more: dict[str, Any] = msgspec.to_builtins(standing.more)
    crew: list[Member] = msgspec.to_builtins(standing.crew)
    return {"store": place.shown, "at": standing.now, "processes": crew, **summary, **more}
