"""How many pages are made at once: whoever comes on top waits a moment, so that no crowd takes the machine from a crawl."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp

T = TypeVar("T", bytes, str)
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
        turn = _Turn(self._turns, send)
        try:
            await self._app(scope, receive, turn)
        finally:
            turn.end()


class _Turn:
    """Lasts until an answer is made. One that is sent piece by piece waits from then on for whoever reads it, which may take for
    ever."""

    def __init__(self, turns: asyncio.Semaphore, send: Any) -> None:
        self._turns: asyncio.Semaphore | None = turns
        self._send = send

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.body" and message.get("more_body"):
            self.end()
        await self._send(message)

    def end(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.release()


class UnderWay:
    """Answers without an end in sight, such as downloads and live pages: nobody may have all of those that there can be."""

    def __init__(self, of_one: int, in_all: int) -> None:
        """`of_one`: of one person."""
        self._of_one, self._in_all = of_one, in_all
        self._by_person: Counter[str] = Counter()

    def answer(self, request: Request, pieces: AsyncGenerator[T, None], kind: str, headers: Mapping[str, str]) -> Response:
        """These pieces as an answer of this kind; raises where one more would be too many."""
        person = str(getattr(request.scope.get("visitor"), "name", ""))
        if self._by_person[person] >= self._of_one or self._by_person.total() >= self._in_all:
            raise HTTPException(503, "Too many of these are open already: wait for one to end, or close it.")
        return _Long(pieces, partial(self._one_more, person), media_type=kind, headers=dict(headers))

    @contextmanager
    def _one_more(self, person: str) -> Iterator[None]:
        self._by_person[person] += 1
        try:
            yield
        finally:
            self._by_person[person] -= 1


class _Long(StreamingResponse):
    """Whoever goes away in the middle leaves nothing open, at once: no collector of garbage is waited for."""

    def __init__(self, pieces: AsyncGenerator[Any, None], one_more: Callable[[], Any], **more: Any) -> None:
        super().__init__(pieces, **more)
        self._pieces, self._one_more = pieces, one_more

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self._one_more():
            async with aclosing(self._pieces):
                await super().__call__(scope, receive, send)
