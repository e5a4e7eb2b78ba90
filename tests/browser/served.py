"""A dashboard on loopback for a browser to open, and a watch over what the browser does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, Route
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from bowerbird.clock import RealClock
from bowerbird.db.threaded import open_threaded
from bowerbird.limits.vault import FileVault
from bowerbird.ports import Database
from bowerbird.transport.serving import Listening, serving
from bowerbird.web.dashboard import dashboard
from bowerbird.web.site import Site
from web_site import CHEAP, Unsteady

T = TypeVar("T")
_HERE = ("127.0.0.1", "localhost")


class Served:
    """A dashboard on loopback, in a thread of its own, so that tests may use Playwright's plain calls."""

    def __init__(self, store: Path | str, name: str = "crawled.db") -> None:
        """`name`: what people see."""
        self.store = store
        self._name = name
        self.base = ""
        self.site: Site | None = None
        self.database: Unsteady | None = None
        self._app: Starlette | None = None
        self._ready, self._ending = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(120), "the dashboard did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(60)

    def address(self, path: str) -> str:
        return f"{self.base}{path}"

    @property
    def needed(self) -> Site:
        assert self.site is not None
        return self.site

    def add(self, route: BaseRoute) -> None:
        """One more address."""
        assert self._app is not None
        self._app.router.routes.insert(0, route)

    def set_away(self, is_away: bool) -> None:
        """Has the database go away, or come back."""
        assert self.database is not None
        self.database.is_away = is_away

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Does something in the loop of the dashboard."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def enter(self, page: Page) -> None:
        """Has a browser come in with the key of the terminal."""
        page.goto(self.address(f"/enter?key={self.do(self.needed.guard.entrance.key())}"))

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        clock = RealClock()
        database = await open_threaded(str(self.store), clock)
        await database.create_tables()
        self.database = Unsteady(database)
        vault, watched = FileVault(Path(self.store).parent / "vault"), cast("Database", self.database)
        self.site = Site(watched, clock, self._name, cost=CHEAP, store=str(self.store), vault=vault)
        self._app = dashboard(self.site)
        async with serving(self._app, Listening()) as self.base:
            self.site.keeper.begin()
            self._ready.set()
            await self._ending.wait()
            self.site.live.close()
            await self.site.keeper.end()
        await database.close()


class Watched:
    """What must not happen on any page: noted while a test runs, and its failure at the end."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.expected: list[str] = []
        """Parts of messages that a test provokes: a page that is refused is an error in the console too."""

    def expect(self, part: str) -> None:
        self.expected.append(part)

    def attach(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._note(f"page error: {error}"))
        page.on("requestfailed", self._failed)

    def guard(self, route: Route) -> None:
        if urlsplit(route.request.url).hostname in _HERE:
            route.continue_()
        else:
            self._note(f"request to elsewhere: {route.request.url}")
            route.abort()

    def left(self) -> list[str]:
        return [one for one in self.problems if not any(part in one for part in self.expected)]

    def _console(self, message: ConsoleMessage) -> None:
        # What the drawing of graphs takes without a graphics card is no fault of the page.
        if message.type in ("error", "warning") and "GL Driver Message" not in message.text:
            self._note(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _failed(self, request: Request) -> None:
        # A page that is left ends what it was still asking for.
        if request.failure != "net::ERR_ABORTED":
            self._note(f"request failed: {request.url} {request.failure}")

    def _note(self, words: str) -> None:
        self.problems.append(words)
