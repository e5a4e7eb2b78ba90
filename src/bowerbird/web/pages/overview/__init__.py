"""The overview: what runs, how it goes, what needs attention; and the page of keys."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.reports.overview.course import Incoming, read_incoming
from bowerbird.reports.overview.reading import Overview, OverviewReader
from bowerbird.web.answers.kept import Kept
from bowerbird.web.site import Site

_LASTS = timedelta(seconds=1)
_PLOT_LASTS = timedelta(seconds=10)


def routes(site: Site) -> list[BaseRoute]:
    reader = OverviewReader(site.database, site.name)

    async def read(about: str) -> Overview:
        return await reader.read(site.clock.now())

    async def read_plot(about: str) -> dict[str, Any]:
        return _plotted(await read_incoming(site.database, site.clock.now()))

    seen: Kept[Overview] = Kept(site.clock, _LASTS, read)
    plots: Kept[dict[str, Any]] = Kept(site.clock, _PLOT_LASTS, read_plot)

    async def now(argument: str) -> str:
        return site.fragment("overview/now.html", seen=(await seen.get("")).value)

    async def index(request: Request) -> Response:
        # What is pushed replaces it a moment later.
        found = await seen.at_once("")
        return site.page(request, "overview/index.html", title="Overview", seen=found.value)

    async def incoming(request: Request) -> Response:
        found = await plots.at_once("")
        return JSONResponse({**found.value, "as_of": found.at.isoformat()})

    async def keys(request: Request) -> Response:
        return site.page(request, "help.html", title="Help")

    site.live.add("overview", now)
    return [Route("/", index), Route("/overview/incoming.json", incoming), Route("/help", keys)]


def _stretch(found: Incoming) -> str:
    if found.is_cut:
        return f"last {len(found.at)} minutes, UTC: the calls before them are not counted here"
    if not found.is_lately:
        return "whole life of the newest crawl, UTC"
    return "last minute, UTC" if len(found.at) == 1 else f"last {len(found.at)} minutes, UTC"


def _plotted(found: Incoming) -> dict[str, Any]:
    return {
        "kind": "stacked",
        "x": "time",
        "x_label": _stretch(found),
        "y_label": "items per minute",
        "unit": "per min",
        "place": "first" if found.is_lately else "middle",
        **({"step": 60} if len(found.at) == 1 else {}),
        "xs": [when.timestamp() for when in found.at],
        "series": [{"label": name, "values": [round(rate, 2) for rate in rates]} for name, rates in found.rates.items()],
    }
