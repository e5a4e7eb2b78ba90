"""Stands between the pages and whoever asks for them: every request passes here first, and nothing is shown to strangers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from hmac import compare_digest
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.clock import to_micros
from bowerbird.errors import BowerbirdError, Busy, DiskFull, UserError
from bowerbird.ports import Clock, Database
from bowerbird.web.security import actions, sessions
from bowerbird.web.security.doors import Door
from bowerbird.web.security.entrance import Entrance
from bowerbird.web.security.passwords import Cost, Passwords
from bowerbird.web.security.roles import Role
from bowerbird.web.security.sessions import Visitor

T = TypeVar("T")
Form = FormData
Handler = Callable[[Request, Form], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]

MOST_FORM = 1024 * 1024
"""Bytes of a form, and of each of its fields."""
MOST_UPLOAD = 16 * 1024 * 1024
"""Bytes of a form with files."""
PATIENCE = 60.0
"""Seconds that the next piece of a body may take to come, or to be taken by whoever asked for it."""
SAFE = frozenset({"GET", "HEAD"})
_MOST_FIELDS, _MOST_FILES = 500, 4
_OPEN = "open_to_all"
_ROLE = "needed_role"
_MOST_ROLES = 1_000
_WHO_GIVES_ROLES = "An admin of this dashboard gives roles, as does whoever runs it, with `bowerbird people role`."
_STALE = "This page is too old for that, or was not made by this dashboard: load it again and repeat what you did."


class Guard:
    """Knows who asks, and lets each do what their role allows."""

    def __init__(self, database: Database, clock: Clock, door: Door | None = None, cost: Cost | None = None) -> None:
        self.door = door or Door()
        self.entrance = Entrance(database, clock, self.door, Passwords(clock, cost))
        self.database = database
        self.clock = clock
        self.patience = PATIENCE
        self.actions: Sequence[Route] = ()
        """The addresses that forms are sent to."""
        self._roles: dict[str, Role] = {}
        """By address, the role that it was found to need."""
        self.away: Callable[[Request, Exception], Awaitable[Response]] | None = None
        """Answers while the database does not."""
        self.failed: Callable[[Request, Exception], Awaitable[Response]] | None = None
        """Answers where a page fails by a mistake of ours: with the same headers as any other answer."""

    def middleware(self) -> list[Middleware]:
        from bowerbird.web.security.watch import Watch

        return [Middleware(Watch, guard=self)]

    def person(self, request: Request) -> Visitor | None:
        """Who asks; None: a stranger, on a page for strangers."""
        found = request.scope.get("visitor")
        return found if isinstance(found, Visitor) else None

    def address(self, request: Request) -> str:
        """From where somebody asks."""
        return self.door.address(request.headers, request.client.host if request.client else "")

    def token(self, request: Request) -> str:
        """What a form must carry."""
        visitor = self.person(request)
        return visitor.token if visitor else ""

    async def visitor(self, session: str, *, is_asking: bool = True) -> Visitor | None:
        """Whose session it is, now; `is_asking`: somebody does something, and the session is kept alive by it."""
        now = self.clock.now()
        async with self.database.reading() as tx:
            visitor = await sessions.visitor_of(tx, session, now, is_private=self.door.is_private)
        if visitor is not None and not visitor.is_noted and is_asking:
            # To be seen is worth no waiting: the next request notes it if this one cannot.
            with suppress(Busy, DiskFull):
                async with self.database.transaction() as tx:
                    await sessions.note(tx, visitor, now)
        return visitor

    def role_for(self, address: str) -> Role:
        """The role that sending a form to an address needs."""
        if (known := self._roles.get(address)) is not None:
            return known
        path = unquote(address.partition("?")[0])
        found = next((route for route in self.actions if route.path_regex.match(path)), None)
        role = (role_of(found.endpoint) if found is not None else None) or Role.READ
        if len(self._roles) < _MOST_ROLES:
            # A page of fifty rows with a button each asks fifty times.
            self._roles[address] = role
        return role

    def showing(self, role: Role, handler: Endpoint) -> Endpoint:
        """A page for those alone who have this role."""

        async def endpoint(request: Request) -> Response:
            await self._check_role(request, role)
            return await handler(request)

        setattr(endpoint, _ROLE, role)
        return endpoint

    def acting(self, role: Role, handler: Handler, most: int = MOST_FORM) -> Endpoint:
        """An endpoint for an action: role, token and size are checked, then the handler is given the form. `most`: bytes of the
        whole, for those that take files."""

        async def endpoint(request: Request) -> Response:
            await self._check_role(request, role)
            check_length(request, most)
            async with request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=MOST_FORM) as form:
                await self._check_token(request, form)
                _check_texts(form)
                return await handler(request, form)

        setattr(endpoint, _ROLE, role)
        return endpoint

    async def act(self, request: Request, what: str, subject: str, do: Callable[[], Awaitable[T]]) -> T:
        """Runs an action; who, when, what and how it ended is recorded, whatever comes of it."""
        visitor, now = self._needed(request), self.clock.now()
        async with self.database.transaction() as tx:
            await actions.check_seen(tx, visitor, subject, await _seen(request))
            action = await actions.begin(tx, visitor, what, subject, now)
        try:
            result = await do()
        except Exception as error:
            words = str(error) if isinstance(error, BowerbirdError) else type(error).__name__
            await self._end(action, actions.FAILED, words)
            raise
        await self._end(action, actions.DONE)
        return result

    def now_seen(self) -> str:
        """What a form carries so that its action is refused when somebody else acts first."""
        return str(to_micros(self.clock.now()))

    async def _end(self, action: int, outcome: str, detail: str = "") -> None:
        # It has happened, or not: that the record cannot be completed now changes nothing about that.
        with suppress(Busy, DiskFull):
            async with self.database.transaction() as tx:
                await actions.end(tx, action, outcome, detail)

    def _needed(self, request: Request) -> Visitor:
        visitor = self.person(request)
        if visitor is None:
            raise HTTPException(401, "Log in first.")
        return visitor

    async def _check_role(self, request: Request, role: Role) -> None:
        visitor = self._needed(request)
        if visitor.role < role:
            await self._note_refusal(request, visitor, f"needs the role {role.word}")
            raise HTTPException(
                403, f"This needs the role {role.word}; {visitor.name} has {visitor.role.word}. {_WHO_GIVES_ROLES}"
            )

    async def _check_token(self, request: Request, form: Form) -> None:
        visitor = self._needed(request)
        given = request.headers.get("x-token") or form.get("token") or ""
        if not isinstance(given, str) or not compare_digest(given.encode(errors="replace"), visitor.token.encode()):
            await self._note_refusal(request, visitor, "without the token of a page")
            raise HTTPException(403, _STALE)

    async def _note_refusal(self, request: Request, visitor: Visitor, why: str) -> None:
        what = f"{request.method} {request.url.path}"
        async with self.database.transaction() as tx:
            ended = (actions.REFUSED, why)
            await actions.note(tx, (visitor.name, visitor.role.word), (what, ""), ended, self.clock.now())


def open_to_all(handler: Endpoint) -> Endpoint:
    """An endpoint that strangers may ask too: it looks itself at who comes."""

    async def endpoint(request: Request) -> Response:
        return await handler(request)

    setattr(endpoint, _OPEN, True)
    return endpoint


def check_length(request: Request, most: int) -> None:
    """Refuses a body that says it is too long, before it is read; the watch counts what really comes."""
    request.scope["most_bytes"] = most
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > most:
        raise HTTPException(413, too_long(most))


def _check_texts(form: Form) -> None:
    """Refuses what no database takes, and nobody types."""
    if any("\0" in name or (isinstance(value, str) and "\0" in value) for name, value in form.multi_items()):
        raise HTTPException(400, "A field holds a character that cannot be stored.")


def too_long(most: int) -> str:
    return f"That is too much at once: {most // 1024:,} KiB are allowed."


def role_of(endpoint: Any) -> Role | None:
    """The role that an endpoint needs; None: open to strangers."""
    if getattr(endpoint, _OPEN, False):
        return None
    declared = getattr(endpoint, _ROLE, Role.READ)
    return declared if isinstance(declared, Role) else Role.READ


def is_open(endpoint: Any) -> bool:
    return bool(getattr(endpoint, _OPEN, False))


def check_routes(routes: Iterable[BaseRoute]) -> None:
    """Raises where an address changes something and does not say who may ask for it: no dashboard is built with such a one."""
    for route in routes:
        if not isinstance(route, Route):
            raise UserError(f"{route!r} is no plain route: nobody can tell who may ask for it")
        declares = hasattr(route.endpoint, _ROLE) or is_open(route.endpoint)
        if not declares and not (route.methods and route.methods <= SAFE):
            raise UserError(
                f"{route.path} takes {', '.join(sorted(route.methods or ()))} and declares no role", "use site.acting"
            )


async def _seen(request: Request) -> str:
    if given := request.headers.get("x-seen"):
        return given
    form = await request.form()
    seen = form.get("seen")
    return seen if isinstance(seen, str) else ""
