"""What tests of the dashboard share: a small crawled store, and a client that asks the application without a network."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.clock import RealClock, VirtualClock, run_virtual
from bowerbird.errors import Busy
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Clock, Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.web.dashboard import dashboard as built
from bowerbird.web.security.passwords import Cost
from bowerbird.web.site import Site

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
WORLD = WorldSettings(
    seed=3,
    accounts=120,
    following=8.0,
    posts_per_day=6,
    history=timedelta(days=2),
    longest_history=20,
)
TAG = "music"
CRAWL = "laboratory"
"""The name of the crawl."""
CHEAP = Cost(passes=1, memory=8)
_STOP = '[stop]\nduration = "3h"'


def crawl_into(store: str) -> None:
    """Crawls a hashtag of a small simulated network, with the people who use it, their followers and whom they follow, in virtual
    time. Call it where no event loop runs: a fixture that is not asynchronous."""

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock)
        plan = laboratory.plan('flow = "topic"', [f"#{TAG}"], more=_STOP, store=store)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)

    run_virtual(main, start=START)


class Crawled:
    """A crawled SQLite file, made once; each test works on a copy."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "crawled.db"
        # In a thread: Playwright has a loop of its own in this one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(crawl_into, str(self.file)).result()

    def copy(self, folder: Path) -> Path:
        copied = folder / "crawled.db"
        for end in ("", "-wal"):
            if Path(f"{self.file}{end}").exists():
                shutil.copy(f"{self.file}{end}", f"{copied}{end}")
        return copied


class Unsteady:
    """A database that goes away and comes back when a test says so; it stands in the place of the one it is given."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        if self.is_away:
            raise Busy("the database does not answer")
        return getattr(self.database, name)


class Answer(Struct, frozen=True):
    """What the application said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Client:
    """Asks an application as a browser that is logged in would, keeping cookies."""

    def __init__(self, site: Site, host: str = "127.0.0.1") -> None:
        self.site = site
        self.app = built(site)
        self._host = host
        self.cookies: dict[str, str] = {}
        self.stays = False
        """Whether it listens to an answer without end, instead of going away once it has asked."""

    async def enter(self) -> None:
        """Comes in with the key of the terminal."""
        await self.get(f"/enter?key={await self.site.guard.entrance.key()}")

    async def log_in(self, name: str, password: str) -> Answer:
        """Fills in the login, as a browser does that was there before."""
        token = (
            (await self.get("/login")).text.partition('name="token" value="')[2].partition('"')[0]
        )
        return await self.post(
            "/login", {"name": name, "password": password, "token": token}, token=False
        )

    def add(self, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        """One more address, asked with GET or POST."""
        self.app.router.routes.insert(0, Route(path, endpoint, methods=["GET", "POST"]))

    @property
    def routes(self) -> list[BaseRoute]:
        return self.app.router.routes

    async def get(self, address: str, headers: Mapping[str, str] | None = None) -> Answer:
        return await self._ask("GET", address, dict(headers or {}), b"")

    async def post(
        self,
        address: str,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: bool = True,
    ) -> Answer:
        """Sends a form; with the token of the page unless told otherwise."""
        fields = {**({"token": await self.token()} if token else {}), **(form or {})}
        own = {
            "content-type": "application/x-www-form-urlencoded",
            "origin": f"http://{self._host}",
            **(headers or {}),
        }
        return await self._ask("POST", address, own, urlencode(fields).encode())

    async def token(self) -> str:
        """The token that pages carry for this client."""
        text = (await self.get("/help")).text
        return text.partition('X-Token": "')[2].partition('"')[0]

    async def _ask(self, method: str, address: str, headers: dict[str, str], body: bytes) -> Answer:
        parts = urlsplit(address)
        cookies = (
            {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
            if self.cookies
            else {}
        )
        sent = {"host": self._host, **cookies, "content-length": str(len(body)), **headers}
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": unquote(parts.path),
            "raw_path": parts.path.encode(), "query_string": parts.query.encode(), "client": ("127.0.0.1", 50_000),
            "server": (self._host, 80), "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        }  # fmt: skip
        told: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not waiting and self.stays:
                await asyncio.Event().wait()
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told.append(message)

        await self.app(scope, receive, send)
        start = next(message for message in told if message["type"] == "http.response.start")
        pairs = [(name.decode().lower(), value.decode()) for name, value in start["headers"]]
        for name, value in pairs:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0].strip('"')
                if "Max-Age=0" in rest:
                    del self.cookies[key]
        whole = b"".join(
            message.get("body", b"") for message in told if message["type"] == "http.response.body"
        )
        return Answer(start["status"], dict(pairs), whole)


async def dashboard(database: Database, clock: Clock | None = None) -> Client:
    """A client of the dashboard over a store, logged in with every right."""
    client = Client(Site(database, clock or RealClock(), "test store", cost=CHEAP))
    await client.enter()
    return client
