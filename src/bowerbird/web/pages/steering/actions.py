"""Who did what, and when."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.web.pages.steering.desk import Desk


def routes(desk: Desk) -> list[BaseRoute]:
    async def page(request: Request) -> Response:
        return desk.page(request, "actions.html", "Actions", actions=(), word="", next=None)

    return [Route("/steering/actions", page)]
