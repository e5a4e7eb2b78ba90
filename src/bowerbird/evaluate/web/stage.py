"""A real dashboard on loopback over a store full of markup, with people of every role, and a client that may send anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from msgspec import Struct
from starlette.routing import Route
from yarl import URL

from bowerbird.clock import RealClock, VirtualClock, run_virtual
from bowerbird.db.threaded import open_threaded
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.web.marking import Marked, mark
from bowerbird.limits.vault import FileVault
from bowerbird.ports import Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.transport.serving import Listening, serving
from bowerbird.web.dashboard import dashboard, dashboard_routes
from bowerbird.web.security import Role, people
from bowerbird.web.security.passwords import Cost
from bowerbird.web.site import Site

PASSWORD = "the right password of the evaluation"  # noqa: S105 - of people who live as long as the evaluation
SECRET = "bowerbird-evaluation-secret-file"  # noqa: S105 - what a file holds that nobody may get
_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_WORLD = WorldSettings(seed=3, accounts=60, following=6.0, posts_per_day=4, history=timedelta(days=2), longest_history=10)
_MOST_READ = 4 * 1024 * 1024
_PATIENCE = aiohttp.ClientTimeout(total=60)

Build = Callable[[Site], Any]
"""Makes the application of a site; tests make one with a hole."""


class Got(Struct, frozen=True):
    """What came back; status 0: the connection was closed without an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def is_refused(self) -> bool:
        """Whether somebody was kept out, or shown the login instead."""
        leads_to_login = self.status == 303 and self.headers.get("location", "").startswith("/login")
        return leads_to_login or self.status in (0, 401, 403, 404, 405, 408, 411, 413, 414, 421, 429, 431, 501, 503)


class Visit(Struct, frozen=True):
    """A browser that is logged in."""

    cookies: Mapping[str, str]
    token: str


class Stage:
    """The dashboard under attack."""

    def __init__(self, site: Site, base: str, session: aiohttp.ClientSession, marked: Marked) -> None:
        self.site = site
        self.base = base
        self.marked = marked
        self.visits: dict[Role, Visit] = {}
        self.shown: list[str] = []
        """Addresses that no page links to and a browser shall open too."""
        self._session = session

    @property
    def host(self) -> str:
        return self.base.partition("://")[2]

    @property
    def routes(self) -> list[Route]:
        return [route for route in dashboard_routes(self.site) if isinstance(route, Route)]

    async def ask(
        self,
        method: str,
        path: str,
        *,
        visit: Visit | None = None,
        headers: Mapping[str, str] | None = None,
        data: Any = None,
    ) -> Got:
        """Sends a request as it is told, without following where it leads."""
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in visit.cookies.items())} if visit else {}
        address = URL(f"{self.base}{path}", encoded=True)
        try:
            async with self._session.request(
                method, address, headers={**cookies, **(headers or {})}, data=data, allow_redirects=False
            ) as answer:
                body = await _whole(answer) if not _is_endless(answer) else await _first_event(answer)
                told = {name.lower(): "\n".join(answer.headers.getall(name)) for name in answer.headers}
                return Got(answer.status, told, body)
        except (aiohttp.ClientError, ConnectionError, TimeoutError, ValueError):
            return Got(0, {}, b"")

    async def log_in(self, name: str, password: str, **more: str) -> tuple[Got, Mapping[str, str]]:
        """Fills in the login; the answer, and the cookies that it gave."""
        page = await self.ask("GET", "/login")
        if page.status != 200:
            # In a crowd not even the form is shown.
            return page, {}
        token = page.text.partition('name="token" value="')[2].partition('"')[0]
        before = Visit(cookies_of(page), token)
        got = await self.ask("POST", "/login", visit=before, data={"name": name, "password": password, "token": token, **more})
        return got, cookies_of(got)

    async def visit(self, name: str) -> Visit:
        """Logs somebody in, and takes the token from a page."""
        _, cookies = await self.log_in(name, PASSWORD)
        page = await self.ask("GET", "/help", visit=Visit(cookies, ""))
        return Visit(cookies, page.text.partition('X-Token": "')[2].partition('"')[0])


def cookies_of(got: Got) -> dict[str, str]:
    pairs = [each.partition(";")[0].partition("=") for each in got.headers.get("set-cookie", "").split("\n") if each]
    return {name.strip(): value for name, _, value in pairs if value not in ("", '""')}


@asynccontextmanager
async def staged(folder: Path, build: Build = dashboard) -> AsyncIterator[Stage]:
    """A dashboard over a small crawled store in which every text is markup, with ada (admin), steve (steer) and rita (read)."""
    clock = RealClock()
    database = await open_threaded(str(folder / "marked.db"), clock)
    try:
        await database.create_tables()
        marked = await mark(database)
        vault = FileVault(folder / "vault", "of the evaluation")
        cost = Cost(passes=1, memory=1024)
        site = Site(database, clock, "marked.db", cost=cost, store=str(folder / "marked.db"), vault=vault)
        await _add_people(site, database)
        jar = aiohttp.DummyCookieJar()
        connector = aiohttp.TCPConnector(limit=100)
        async with (
            serving(build(site), Listening()) as base,
            aiohttp.ClientSession(cookie_jar=jar, timeout=_PATIENCE, connector=connector, read_bufsize=2**20) as session,
        ):
            site.keeper.begin()
            stage = Stage(site, base, session, marked)
            for role, name in ((Role.READ, "rita"), (Role.STEER, "steve"), (Role.ADMIN, "ada")):
                stage.visits[role] = await stage.visit(name)
            yield stage
            site.live.close()
            await site.keeper.end()
    finally:
        await database.close()


def crawl_into(folder: Path) -> None:
    """The store, before it is marked: a crawl of a simulated network in virtual time. Not where a loop runs."""

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=_WORLD), clock)
        plan = laboratory.plan('flow = "topic"', ["#music"], more='[stop]\nduration = "2h"', store=str(folder / "marked.db"))
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)

    run_virtual(main, start=_START)
    (folder / "secret.txt").write_text(SECRET)


async def _add_people(site: Site, database: Database) -> None:
    hash_ = await site.guard.entrance.passwords.hash(PASSWORD)
    async with database.transaction() as tx:
        for name, role in (("ada", Role.ADMIN), ("steve", Role.STEER), ("rita", Role.READ)):
            await people.add(tx, name, hash_, role, site.clock.now())


def _is_endless(answer: aiohttp.ClientResponse) -> bool:
    return answer.headers.get("content-type", "").startswith("text/event-stream")


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    """All of it, to a limit: who leaves a download in the middle has it open still when the next one is asked for."""
    body = bytearray()
    while len(body) < _MOST_READ and (piece := await answer.content.read(_MOST_READ - len(body))):
        body += piece
    return bytes(body)


async def _first_event(answer: aiohttp.ClientResponse) -> bytes:
    """What is told first of what is told live."""
    try:
        async with asyncio.timeout(5):
            return await answer.content.readuntil(b"\n\n")
    except (TimeoutError, asyncio.IncompleteReadError, ValueError):
        return b""
