"""How many pages are made at once: whoever comes on top waits a moment, so that no crowd takes the machine from a crawl, and no
crowd of strangers the pages from those who are let in."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp

from bowerbird.ports import Clock

T = TypeVar("T", bytes, str)
AT_ONCE = 12
"""Pages; each may hold a connection to the database or two."""
OF_STRANGERS = 4
"""Of those who are not logged in; each may wait for its password to be compared."""
_MOST_WAITING, _MOST_STRANGERS = 500, 40
_HELD = timedelta(seconds=1)
"""How long strangers wait for a refusal: it costs us nothing, and whoever tries again and again that much."""
_TOO_MANY = 429
_SOON = {"Retry-After": "2"}
_WORDS = "too many ask at once; try again in a moment"
_PASSED = ("/live/", "/assets/")
"""What lasts as long as somebody watches, and what is only a file."""


class _Lane:
    """A few turns, and those who wait for one."""

    def __init__(self, at_once: int, most: int) -> None:
        self.turns = asyncio.Semaphore(at_once)
        self._most = most
        self._waiting = 0

    @property
    def is_full(self) -> bool:
        return self._waiting >= self._most

    async def wait(self) -> None:
        self._waiting += 1
        try:
            await self.turns.acquire()
        finally:
            self._waiting -= 1


class Crowd:
    """Lets a few requests in at a time; strangers have turns of their own, and take none from others."""

    def __init__(self, app: ASGIApp, clock: Clock, at_once: int = AT_ONCE) -> None:
        self._app = app
        self._clock = clock
        self._people, self._strangers = _Lane(at_once, _MOST_WAITING), _Lane(OF_STRANGERS, _MOST_STRANGERS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_stranger = scope.get("visitor") is None
        lane = self._strangers if is_stranger else self._people
        if scope["type"] != "http" or (scope["path"].startswith(_PASSED) and not is_stranger):
            await self._app(scope, receive, send)
        elif lane.is_full:
            await self._refuse(scope, receive, send, is_stranger=is_stranger)
        else:
            await lane.wait()
            turn = _Turn(lane.turns, send, self._hold if is_stranger else None)
            try:
                await self._app(scope, receive, turn)
            finally:
                turn.end()

    async def _refuse(self, scope: Any, receive: Any, send: Any, *, is_stranger: bool) -> None:
        if is_stranger:
            await self._hold()
        answer = PlainTextResponse(_WORDS, _TOO_MANY if is_stranger else 503, headers=_SOON)
        await answer(scope, receive, send)

    async def _hold(self) -> None:
        await self._clock.sleep_until(self._clock.now() + _HELD)


class _Turn:
    """Lasts until an answer is made. One that is sent piece by piece waits from then on for whoever reads it, which may take for
    ever; and one that refuses a stranger waits a moment before it is sent."""

    def __init__(self, turns: asyncio.Semaphore, send: Any, hold: Callable[[], Awaitable[None]] | None) -> None:
        self._turns: asyncio.Semaphore | None = turns
        self._send = send
        self._hold = hold

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.body" and message.get("more_body"):
            self.end()
        if self._hold is not None and message.get("status") == _TOO_MANY:
            self.end()
            await self._hold()
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
        if self._by_person[person] >= self._of_one:
            raise HTTPException(_TOO_MANY, "Too many of these are open already: wait for one to end, or close it.", _SOON)
        if self._by_person.total() >= self._in_all:
            raise HTTPException(503, "Others have too many of these open: try again in a moment.", _SOON)
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
        self._made = _Made(pieces)
        super().__init__(self._made, **more)
        self._one_more = one_more

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self._one_more():
            async with aclosing(self._made):
                await super().__call__(scope, receive, send)


class _Made:
    """Pieces, each made in a task of its own: where nobody waits for it any more, that is told to end and can end in order, a
    transaction with its rollback. What waits for the piece itself is not even let wait for that."""

    def __init__(self, pieces: AsyncGenerator[Any, None]) -> None:
        self._pieces = pieces
        self._next: asyncio.Task[Any] | None = None

    def __aiter__(self) -> _Made:
        return self

    async def __anext__(self) -> Any:
        self._next = asyncio.create_task(self._piece())
        return await asyncio.shield(self._next)

    async def aclose(self) -> None:
        if self._next is not None:
            self._next.cancel()
            # How a piece ends that nobody waits for is nobody's trouble.
            await asyncio.gather(self._next, return_exceptions=True)
        await self._pieces.aclose()

    async def _piece(self) -> Any:
        return await anext(self._pieces)
