"""The overview: what runs, how it goes, what needs attention; and the page of keys."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.app.next_steps import NextSteps
from bowerbird.reports.overview.course import Incoming, read_incoming
from bowerbird.reports.overview.reading import OverviewReader
from bowerbird.web.site import Site


def routes(site: Site) -> list[BaseRoute]:
    reader = OverviewReader(site.database, NextSteps().read)

    async def now(argument: str) -> str:
        return site.fragment("overview/now.html", seen=await reader.read(site.clock.now()))

    async def index(request: Request) -> Response:
        return site.page(request, "overview/index.html", title="Overview", seen=await reader.read(site.clock.now()))

    async def incoming(request: Request) -> Response:
        when = site.clock.now()
        return JSONResponse({**_plotted(await read_incoming(site.database, when)), "as_of": when.isoformat()})

    async def keys(request: Request) -> Response:
        return site.page(request, "help.html", title="Help")

    site.live.add("overview", now)
    return [Route("/", index), Route("/overview/incoming.json", incoming), Route("/help", keys)]


def _plotted(found: Incoming) -> dict[str, Any]:
    return {
        "kind": "stacked",
        "x": "time",
        "x_label": "last hour, UTC" if found.is_lately else "whole life of the newest crawl, UTC",
        "y_label": "new items per minute",
        "unit": "per min",
        "xs": [when.timestamp() for when in found.at],
        "series": [{"label": name, "values": [round(rate, 2) for rate in rates]} for name, rates in found.rates.items()],
    }
