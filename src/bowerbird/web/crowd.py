"""How many pages are made at once: whoever comes on top waits a moment, so that no crowd takes the machine from a crawl."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

AT_ONCE = 12
"""Pages; each may hold a connection to the database or two."""
_MOST_WAITING = 500
_PASSED = ("/live/", "/assets/")
"""What lasts as long as somebody watches, and what is only a file."""


class Crowd:
    """Lets a few requests in at a time."""

    def __init__(self, app: ASGIApp, at_once: int = AT_ONCE) -> None:
        self._app = app
        self._turns = asyncio.Semaphore(at_once)
        self._waiting = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_PASSED):
            await self._app(scope, receive, send)
        elif self._waiting >= _MOST_WAITING:
            answer = PlainTextResponse("too many ask at once; try again in a moment", 503, headers={"Retry-After": "2"})
            await answer(scope, receive, send)
        else:
            await self._in_turn(scope, receive, send)

    async def _in_turn(self, scope: Any, receive: Any, send: Any) -> None:
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._turns.release()
