"""Figures."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.web.site import Site


def routes(site: Site) -> list[BaseRoute]:
    async def index(request: Request) -> Response:
        return site.page(request, "figures/index.html", title="Figures")

    return [Route("/figures", index)]
