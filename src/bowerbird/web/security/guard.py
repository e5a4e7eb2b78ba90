"""Stands between the pages and whoever asks for them."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable

from starlette.datastructures import FormData
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from bowerbird.web.security.roles import Person, Role

Form = FormData
Handler = Callable[[Request, Form], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Guard:
    """Lets whoever reaches it do everything: for loopback only, until people have accounts."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(32)

    def middleware(self) -> list[Middleware]:
        return []

    def routes(self) -> list[BaseRoute]:
        return []

    def person(self, request: Request) -> Person | None:
        return Person("local", Role.ADMIN)

    def token(self, request: Request) -> str:
        """What a form must carry."""
        return self._token

    def acting(self, role: Role, handler: Handler) -> Endpoint:
        """An endpoint for an action: the role and the token are checked, then the handler is given the form."""

        async def endpoint(request: Request) -> Response:
            person = self.person(request)
            if person is None or person.role < role:
                return PlainTextResponse("you may not do this", 403)
            form = await request.form(max_files=4, max_fields=200)
            given = str(request.headers.get("x-token") or form.get("token") or "")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return PlainTextResponse("the page is too old for this: load it again", 403)
            return await handler(request, form)

        return endpoint
