"""Who did what, and when."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.reports.actions import read_actions
from bowerbird.web.pages.steering.desk import Desk

_ROWS = 50


def routes(desk: Desk) -> list[BaseRoute]:
    async def page(request: Request) -> Response:
        word, before = request.query_params.get("q", "").strip()[:100], request.query_params.get("before", "")
        last = int(before) if before.isdecimal() and len(before) < 19 else None
        async with desk.site.database.reading() as tx:
            found = await read_actions(tx, most=_ROWS + 1, before=last, word=word)
        more = urlencode({"q": word, "before": found[_ROWS - 1].action}) if len(found) > _ROWS else ""
        return desk.page(
            request,
            "actions.html",
            "Actions",
            actions=found[:_ROWS],
            word=word,
            next=f"/steering/actions?{more}" if more else None,
        )

    return [Route("/steering/actions", page)]
