"""The login, the key of the terminal, and the way out."""

from __future__ import annotations

from hmac import compare_digest

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bowerbird.web.security import Form, sessions
from bowerbird.web.security.doors import inside
from bowerbird.web.security.entrance import Refused
from bowerbird.web.security.guard import check_length
from bowerbird.web.security.people import is_anybody_there
from bowerbird.web.site import Site

_MOST = 16 * 1024
"""Bytes of a login."""
_STALE = "This page was open too long, or the browser keeps no cookies: try once more."


class DoorPages:
    """What strangers see."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._guard = site.guard

    async def ask(self, request: Request) -> Response:
        """The login; who is logged in goes on at once."""
        target = inside(request.query_params.get("next", "/"))
        if self._guard.person(request) is not None:
            return RedirectResponse(target, 303)
        return await self._form(request, target)

    async def log_in(self, request: Request) -> Response:
        check_length(request, _MOST)
        async with request.form(max_files=0, max_fields=8, max_part_size=_MOST) as form:
            given = {name: value for name, value in form.items() if isinstance(value, str)}
        target = inside(given.get("next", "/"))
        # The token ties the form to this browser: nobody can have others log in under a name of his own.
        mark = request.cookies.get(self._mark(request), "")
        if not mark or not compare_digest(given.get("token", "").encode(errors="replace"), sessions.token_of(mark).encode()):
            return await self._form(request, target, Refused(403, _STALE))
        address = self._guard.address(request)
        try:
            session = await self._guard.entrance.log_in(given.get("name", ""), given.get("password", ""), address)
        except Refused as refused:
            return await self._form(request, target, refused, given.get("name", ""))
        return self._let_in(request, session, target)

    async def enter(self, request: Request) -> Response:
        """Exchanges the key of the terminal for a session; it leads on at once, so that no history keeps the key."""
        try:
            session = await self._guard.entrance.use_key(request.query_params.get("key", ""))
        except Refused as refused:
            return await self._form(request, "/", refused)
        return self._let_in(request, session, "/")

    async def log_out(self, request: Request, form: Form) -> Response:
        visitor = self._guard.person(request)
        if visitor is not None:
            async with self._site.database.transaction() as tx:
                await sessions.end(tx, visitor)
        answer = RedirectResponse("/login", 303)
        self._keep(request, answer, self._cookie(request), "", 0)
        return answer

    def _let_in(self, request: Request, session: str, target: str) -> Response:
        answer = RedirectResponse(target, 303)
        self._keep(request, answer, self._cookie(request), session, int(sessions.LONGEST.total_seconds()))
        self._keep(request, answer, self._mark(request), "", 0)
        return answer

    async def _form(self, request: Request, target: str, refused: Refused | None = None, name: str = "") -> Response:
        mark = request.cookies.get(self._mark(request), "")[:128] or sessions.fresh_id()
        values = {
            "next": target,
            "name": name[:64],
            "problem": str(refused) if refused else "",
            "form_token": sessions.token_of(mark),
            "has_people": await self._has_people(),
        }
        answer: HTMLResponse = self._site.part(request, "people/login.html", **values)
        answer.status_code = refused.status if refused else 200
        if refused and refused.wait:
            answer.headers["retry-after"] = str(refused.wait)
        self._keep(request, answer, self._mark(request), mark)
        return answer

    async def _has_people(self) -> bool:
        """Whether somebody could log in; to others than this machine it is never said that nobody can."""
        if not self._guard.door.is_private:
            return True
        async with self._site.database.reading() as tx:
            return await is_anybody_there(tx)

    def _cookie(self, request: Request) -> str:
        return self._guard.door.cookie(request.headers)

    def _mark(self, request: Request) -> str:
        return f"{self._cookie(request)}-login"

    def _keep(self, request: Request, answer: Response, name: str, value: str, lasts: int | None = None) -> None:
        """Has the browser keep a cookie that no script reads, and that goes with nothing another site asks."""
        is_secure = self._guard.door.is_secure(request.headers)
        answer.set_cookie(name, value, max_age=lasts, httponly=True, samesite="strict", secure=is_secure)
