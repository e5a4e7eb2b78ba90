"""The first to see a request: its host, its origin, its size, and whose session it has; and the last to see an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import datetime, timedelta
from html import escape
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Route

from bowerbird.errors import BowerbirdError
from bowerbird.transport.serving import is_loopback
from bowerbird.web.security.doors import inside
from bowerbird.web.security.guard import MOST_UPLOAD, SAFE, Guard, is_open, too_long
from bowerbird.web.security.headers import protect
from bowerbird.web.security.sessions import Visitor

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOOK_AGAIN = timedelta(seconds=5)
"""How long somebody who was logged out may still watch what was open."""
_ONCE_MORE = '<!doctype html><html lang="en"><title>bowerbird</title><meta http-equiv="refresh" content="0; url={0}">'
_LONGEST_ADDRESS = 8 * 1024
_MOST_OF_STRANGERS = 16 * 1024
"""Bytes: a login is no longer."""


class _Over(BaseException):
    """An answer ends here: no error, and nobody's to handle but the watch's."""


class Watch:
    """Middleware around the whole dashboard."""

    def __init__(self, app: App, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._watch(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _watch(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        answered = self._answers(scope, send)
        refusal = self._refusal(request)
        if refusal is None:
            session = session_of(request, self._guard)
            refusal = await self._known(request, session)
        if refusal is not None:
            await refusal(scope, receive, answered)
            return
        if self._guard.door.is_secure(request.headers):
            # Behind a proxy the connection to us is plain; addresses that answers name are those of the browser.
            scope["scheme"] = "https"
        watched = _Watched(self._guard, session, answered) if isinstance(scope["visitor"], Visitor) else answered
        taken = _counted(scope, receive, self._guard.patience)
        try:
            if scope["visitor"] is None and request.method not in SAFE:
                # Strangers get a turn among the others when all they send is here, and it is little.
                taken = await _whole(scope, taken)
            await self._app(scope, taken, watched)
        except (_Over, ClientDisconnect):
            return
        except HTTPException as refused:
            await _said(refused.status_code, refused.detail)(scope, receive, answered)
        except Exception as error:
            if answered.has_begun or self._guard.failed is None:
                raise
            await (await self._guard.failed(request, error))(scope, receive, answered)

    def _refusal(self, request: Request) -> Response | None:
        """Why a request is not even looked at."""
        door, headers = self._guard.door, request.headers
        if len(headers.getlist("host")) != 1 or not door.knows(headers["host"], _own(request.scope)):
            return _said(421, "This name does not lead to a dashboard. Where it should, start it with --name and the name.")
        query = request.scope.get("query_string", b"")
        if len(request.scope.get("raw_path") or b"") + len(query) > _LONGEST_ADDRESS:
            return _said(414, "This address is too long.")
        if "\0" in request.scope["path"] or b"%00" in query or b"\0" in query:
            return _said(400, "No address has this character.")
        if door.is_foreign(headers, is_safe=request.method in SAFE):
            return _said(403, "This was asked by a page of another host.")
        return None

    async def _known(self, request: Request, session: str) -> Response | None:
        """Finds out who asks; the answer for strangers, or while nobody can be known."""
        request.scope["visitor"], is_open = None, self._is_for_strangers(request)
        try:
            request.scope["visitor"] = await self._guard.visitor(session) if session else None
        except (BowerbirdError, OSError) as error:
            # Style and scripts are there whatever the database does.
            return None if is_open else await self._answer_away(request, error)
        return None if is_open or request.scope["visitor"] is not None else _to_login(request)

    async def _answer_away(self, request: Request, error: Exception) -> Response:
        return await self._guard.away(request, error) if self._guard.away else _said(503, "The database does not answer.")

    def _is_for_strangers(self, request: Request) -> bool:
        """Whether the route that will answer is open; one of the same path for another method says nothing."""
        for route in request.scope["app"].routes:
            match, _ = route.matches(request.scope)
            if match is Match.FULL:
                return isinstance(route, Route) and is_open(route.endpoint)
        return False

    def _answers(self, scope: Scope, send: Send) -> _Answers:
        headers = Headers(scope=dict(scope))
        host = (headers.get("host") or "").partition(":")[0]
        is_pinned = self._guard.door.is_secure(headers) and not is_loopback(host)
        return _Answers(send, self._guard.patience, is_pinned=is_pinned)


class _Answers:
    """Every answer carries what browsers are to refuse, whoever made it."""

    def __init__(self, send: Send, patience: float, *, is_pinned: bool) -> None:
        """`patience`: seconds that somebody may take to read a piece."""
        self.has_begun = False
        self._send = send
        self._patience = patience
        self._is_pinned = is_pinned

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            protect(MutableHeaders(scope=message), is_pinned=self._is_pinned)
        try:
            async with asyncio.timeout(self._patience):
                await self._send(message)
        except TimeoutError:
            # Nobody reads: what stands behind the answer, such as a download, is let go.
            raise _Over from None


class _Watched:
    """Ends an answer that goes on and on, such as a live page, when its session does."""

    def __init__(self, guard: Guard, session: str, send: Send) -> None:
        self._guard = guard
        self._session = session
        self._send = send
        self._looked_at: datetime = guard.clock.now()

    async def __call__(self, message: Message) -> None:
        now = self._guard.clock.now()
        if message["type"] == "http.response.body" and message.get("more_body") and now - self._looked_at > _LOOK_AGAIN:
            self._looked_at = now
            if not await self._is_valid():
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
                raise _Over
        await self._send(message)

    async def _is_valid(self) -> bool:
        try:
            return await self._guard.visitor(self._session, is_asking=False) is not None
        except (BowerbirdError, OSError):
            # What is shown is what was known before; there is nothing newer while the database does not answer.
            return True


def session_of(request: Request, guard: Guard) -> str:
    """The id that the browser shows; empty: none."""
    return request.cookies.get(guard.door.cookie(request.headers), "")


def _counted(scope: Scope, receive: Receive, patience: float) -> Receive:
    """Takes no more of a body than is allowed, and waits no longer for it."""
    came, has_ended = 0, False

    async def counted() -> Message:
        nonlocal came, has_ended
        if has_ended:
            return await receive()
        try:
            async with asyncio.timeout(patience):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "The rest of the form did not come.") from None
        came += len(message.get("body", b""))
        has_ended = message["type"] != "http.request" or not message.get("more_body", False)
        most = scope.get("most_bytes", MOST_UPLOAD)
        if came > most:
            raise HTTPException(413, too_long(most))
        return message

    return counted


async def _whole(scope: Scope, receive: Receive) -> Receive:
    """A body that has come already."""
    scope["most_bytes"] = _MOST_OF_STRANGERS
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        has_more = message["type"] == "http.request" and message.get("more_body", False)
    waiting: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def given() -> Message:
        return waiting.pop() if waiting else await receive()

    return given


def _to_login(request: Request) -> Response:
    """Strangers are shown the login, where it can be shown, and come back to where they were."""
    is_page = request.method in SAFE and "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
    if not is_page:
        return PlainTextResponse("Log in first.", 401, {"HX-Redirect": "/login"})
    query = request.url.query
    asked = request.url.path + (f"?{query}" if query else "")
    if request.headers.get("sec-fetch-site") == "cross-site":
        # After a link on another site the browser keeps the cookie back; from a page of ours it does not.
        return HTMLResponse(_ONCE_MORE.format(escape(inside(asked))))
    return RedirectResponse("/login" if asked == "/" else f"/login?next={quote(asked, safe='/')}", 303)


def _own(scope: Scope) -> str:
    server = scope.get("server")
    return str(server[0]) if server else ""


def _said(status: int, words: str) -> Response:
    return PlainTextResponse(words, status)
