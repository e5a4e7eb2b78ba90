"""The overview: what runs, how it goes, what needs attention; and the page of keys."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.reports.overview import read_overview
from bowerbird.web.site import Site


def routes(site: Site) -> list[BaseRoute]:
    async def now(argument: str) -> str:
        return site.fragment("overview/now.html", seen=await read_overview(site.database, site.clock.now()))

    async def index(request: Request) -> Response:
        seen = await read_overview(site.database, site.clock.now())
        return site.page(request, "overview/index.html", title="Overview", seen=seen)

    async def keys(request: Request) -> Response:
        return site.page(request, "help.html", title="Help")

    site.live.add("overview", now)
    return [Route("/", index), Route("/help", keys)]
