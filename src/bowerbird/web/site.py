"""What every page is given: the store, the time, templates, and the way to act."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import cached_property
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse

from bowerbird.ports import Clock, Database, Vault
from bowerbird.reports.reader import Reader
from bowerbird.studies.keeper import Keeper
from bowerbird.web.answers.live import Live
from bowerbird.web.ranges import Range, range_of
from bowerbird.web.security import Door, Endpoint, Guard, Handler, Role, Visitor
from bowerbird.web.security.guard import MOST_FORM
from bowerbird.web.security.passwords import Cost
from bowerbird.web.templating import Templates

T = TypeVar("T")
_request: ContextVar[Request | None] = ContextVar("request", default=None)
"""The request that a page is rendered for: macros need its token, and are imported without context."""


class Site:
    """One dashboard over one store."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        name: str,
        *,
        vault: Vault | None = None,
        store: str = "",
        door: Door | None = None,
        cost: Cost | None = None,
    ) -> None:
        """`name`: of the store, as people see it, without a password; `store`: its address, for crawls that are started here;
        `door`: how people reach it; `cost`: of their passwords."""
        self.database = database
        self.clock = clock
        self.name = name
        self.vault = vault
        self.store = store
        self.reader = Reader(database)
        self.guard = Guard(database, clock, door, cost)
        self.live = Live(clock)
        self.keeper = Keeper(database, clock)

    @cached_property
    def templates(self) -> Templates:
        asking: dict[str, Callable[..., object]] = {
            "token": self._token,
            "person": self._person,
            "may": self._may,
            "page_made": self.guard.now_seen,
        }
        return Templates(self.clock.now, asking, _chosen)

    def page(self, request: Request, template: str, *, title: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A whole page in the layout; for an htmx request that replaces a part, the content alone."""
        is_part = "hx-request" in request.headers and "hx-boosted" not in request.headers
        values = {**values, "title": title, "site": self.name, "path": request.url.path, "theme": _theme(request)}
        return HTMLResponse(self._rendered(request, template, values, block="content" if is_part else None), status)

    def part(self, request: Request, template: str, **values: Any) -> HTMLResponse:
        """A fragment without layout."""
        return HTMLResponse(self._rendered(request, template, {**values, "site": self.name}))

    def fragment(self, template: str, **values: Any) -> str:
        """The same for those who watch live: no request asks for it, so it holds no forms."""
        return self.templates.render(template, {**values, "site": self.name})

    def showing(self, role: Role, handler: Endpoint) -> Endpoint:
        """A page for those alone who have this role; the others are for everybody who is logged in."""
        return self.guard.showing(role, handler)

    def acting(self, role: Role, handler: Handler, most: int = MOST_FORM) -> Endpoint:
        """An endpoint for a POST: checks role and token, parses a form of at most so many bytes, and gives it on."""
        return self.guard.acting(role, handler, most)

    async def act(self, request: Request, action: str, subject: str, do: Callable[[], Awaitable[T]]) -> T:
        """Runs an action of a person; who, when, what and how it ended is recorded. Raises `Overtaken` where
        somebody else acted on the same subject after this person's page was made."""
        return await self.guard.act(request, action, subject, do)

    def _rendered(self, request: Request, template: str, values: dict[str, Any], block: str | None = None) -> str:
        held = _request.set(request)
        try:
            return self.templates.render(template, values, block)
        finally:
            _request.reset(held)

    def _token(self) -> str:
        request = _request.get()
        return "" if request is None else self.guard.token(request)

    def _person(self) -> Visitor | None:
        request = _request.get()
        return None if request is None else self.guard.person(request)

    def _may(self, address: str) -> bool:
        """Whether whoever asks may send a form there: no page offers what would be refused."""
        person = self._person()
        return person is None or person.role >= self.guard.role_for(address)


def _chosen() -> Range:
    request = _request.get()
    return Range() if request is None else range_of(request)


def _theme(request: Request) -> str:
    """What the reader chose; nothing: as the system is."""
    chosen = request.cookies.get("theme", "")
    return chosen if chosen in ("light", "dark") else ""
