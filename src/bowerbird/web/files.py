"""Our own style and scripts, and the foreign ones that lie beside them; nothing is ever fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.web.security import open_to_all
from bowerbird.web.templating import ASSETS, FOREIGN

_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KEPT = "public, max-age=31536000, immutable"
_CHECKED = "public, max-age=3600"


def asset_routes() -> list[BaseRoute]:
    return [
        Route("/assets/foreign/{name}", open_to_all(_from(FOREIGN))),
        Route("/assets/{name}", open_to_all(_from(ASSETS))),
        Route("/favicon.ico", open_to_all(_icon)),
    ]


async def _icon(request: Request) -> Response:
    return FileResponse(ASSETS / "bird.svg", media_type=_TYPES[".svg"], headers={"Cache-Control": _CHECKED})


def _from(folder: Path) -> Callable[[Request], Awaitable[Response]]:
    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        found = folder / name
        if not _NAME.fullmatch(name) or found.suffix not in _TYPES or not found.is_file():
            return PlainTextResponse("there is no such file", 404)
        kept = _KEPT if request.query_params.get("v") else _CHECKED
        return FileResponse(found, media_type=_TYPES[found.suffix], headers={"Cache-Control": kept})

    return file
