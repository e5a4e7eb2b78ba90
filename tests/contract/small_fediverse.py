"""Small servers that speak Mastodon's API in the manner of other software, over real HTTP."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer
from msgspec import Struct

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.clock import RealClock
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.ports import Database
from bowerbird.simulated.tokens import Token
from bowerbird.transport import HttpTransport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HTML = "<!doctype html><html><body>Not Found</body></html>"


class Manner(Struct, frozen=True, kw_only=True):
    """How a kind of server answers."""

    version: str
    nodeinfo: str = ""
    has_batches: bool = True
    """Whether `/accounts` and `/statuses` take ids."""
    no_batch: tuple[int, str, str] = (404, "application/json", '{"error":"Not Found"}')
    """Status, type and body where they do not."""
    missing: tuple[int, str, str] = (404, "application/json", '{"error":"Record not found"}')
    """Of an object."""
    no_route: tuple[int, str, str] = (404, "application/json", '{"error":"Not Found"}')
    says_what_it_is: bool = True
    stream_refusal: str = ""
    """What the streaming server says in its header, with a 401 and nothing else."""


MASTODON_45 = Manner(version="4.5.0")
MASTODON_42 = Manner(version="4.2.10", has_batches=False)
GOTOSOCIAL = Manner(
    version="0.20.0+git-1234567",
    nodeinfo="gotosocial",
    has_batches=False,
    no_batch=(405, "text/plain", "405 method not allowed"),
    missing=(404, "application/json", '{"error":"Not Found"}'),
)
TAKAHE = Manner(
    version="0.11.0",
    nodeinfo="takahe",
    has_batches=False,
    no_batch=(404, "text/html", HTML),
    missing=(404, "text/html", HTML),
    no_route=(404, "text/html", HTML),
)
PLEROMA = Manner(
    version="2.7.2 (compatible; Pleroma 2.9.1)",
    has_batches=False,
    no_route=(404, "application/json", '{"error":"Not implemented"}'),
)
MANNERS = {
    "mastodon-4.5": MASTODON_45,
    "mastodon-4.2": MASTODON_42,
    "gotosocial": GOTOSOCIAL,
    "takahe": TAKAHE,
    "pleroma": PLEROMA,
}


def secretive(manner: Manner) -> Manner:
    """The same server, which does not say what it is."""
    return msgspec.structs.replace(manner, says_what_it_is=False)


class SmallServer:
    """Six accounts with three posts each; account 1 follows and is followed by all others."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.base = ""
        self.seen: Counter[str] = Counter()
        """Requests by route."""
        self.absent: set[str] = set()
        """Accounts and posts that are not to be had."""
        self.good_batches = 0
        """So many batches are taken before all others are refused."""
        self.slow_batch: set[str] = set()
        """A batch of just these is answered only after somebody has asked for a single post."""
        self._asked_for_one = asyncio.Event()
        self.hidden: set[str] = set()
        """Routes that it does not have for now."""
        self.members_only: set[str] = set()
        """Routes that it answers only with a token."""

    def accounts(self) -> list[str]:
        return [str(number) for number in range(1, 7)]

    def posts(self) -> list[str]:
        return [f"{account}0{number}" for account in self.accounts() for number in (1, 2, 3)]

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._counted])
        table: dict[str, Handler] = {
            "/api/v1/accounts/{id}": self._one_account,
            "/api/v1/accounts/{id}/followers": self._others,
            "/api/v1/accounts/{id}/following": self._others,
            "/api/v1/accounts/{id}/statuses": self._timeline,
            "/api/v1/statuses/{id}": self._one_post,
            "/api/v1/statuses/{id}/reblogged_by": self._others,
        }
        if self.manner.stream_refusal:
            table["/api/v1/streaming"] = self._no_stream
        if self.manner.says_what_it_is:
            table |= {"/api/v2/instance": self._instance, "/.well-known/nodeinfo": self._nodeinfo, "/nodeinfo/2.0": self._node}
        for path, handler in table.items():
            application.router.add_get(path, handler)
        return application

    @web.middleware
    async def _counted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.seen[request.match_info.route.resource.canonical if request.match_info.route.resource else request.path] += 1
        if request.path in ("/api/v1/accounts", "/api/v1/statuses"):
            if self.slow_batch == set(request.query.getall("id[]", [])):
                await self._asked_for_one.wait()
            return self._batch(request)
        route = request.match_info.route.resource.canonical if request.match_info.route.resource else ""
        if route in self.members_only and "Authorization" not in request.headers:
            return web.json_response({"error": "This method requires an authenticated user"}, status=401)
        is_lacking = request.match_info.http_exception or route in self.hidden
        return self._said(self.manner.no_route) if is_lacking else await handler(request)

    def _said(self, words: tuple[int, str, str]) -> web.Response:
        return web.Response(status=words[0], content_type=words[1], text=words[2])

    def _batch(self, request: web.Request) -> web.Response:
        self.good_batches -= 1
        if not self.manner.has_batches and self.good_batches < 0:
            return self._said(self.manner.no_batch)
        shape = self.account if request.path.endswith("accounts") else self.post
        return web.json_response([shape(key) for key in request.query.getall("id[]", []) if key not in self.absent])

    async def _no_stream(self, request: web.Request) -> web.Response:
        return web.Response(status=401, headers={"X-Error-Message": self.manner.stream_refusal})

    async def _instance(self, request: web.Request) -> web.Response:
        return web.json_response({"domain": "small.example", "version": self.manner.version, "configuration": {"urls": {}}})

    async def _nodeinfo(self, request: web.Request) -> web.Response:
        rel = "http://nodeinfo.diaspora.software/ns/schema/2.0"
        return web.json_response({"links": [{"rel": rel, "href": "https://small.example/nodeinfo/2.0"}]})

    async def _node(self, request: web.Request) -> web.Response:
        return web.json_response({"software": {"name": self.manner.nodeinfo, "version": self.manner.version}})

    async def _one_account(self, request: web.Request) -> web.Response:
        key = request.match_info["id"]
        is_there = key in self.accounts() and key not in self.absent
        return web.json_response(self.account(key)) if is_there else self._said(self.manner.missing)

    async def _one_post(self, request: web.Request) -> web.Response:
        self._asked_for_one.set()
        key = request.match_info["id"]
        is_there = key in self.posts() and key not in self.absent
        return web.json_response(self.post(key)) if is_there else self._said(self.manner.missing)

    async def _others(self, request: web.Request) -> web.Response:
        return web.json_response([self.account(key) for key in self.accounts() if key != request.match_info["id"]])

    async def _timeline(self, request: web.Request) -> web.Response:
        own = [key for key in self.posts() if key.startswith(request.match_info["id"])]
        return web.json_response([self.post(key) for key in reversed(own)])

    def account(self, key: str) -> dict[str, Any]:
        counters = {"followers_count": 5, "following_count": 5, "statuses_count": 3}
        address = f"https://small.example/users/u{key}"
        return {"id": key, "acct": f"u{key}", "uri": address, "url": address, "note": "", "fields": [], **counters}

    def post(self, key: str) -> dict[str, Any]:
        address = f"https://small.example/users/u{key[0]}/statuses/{key}"
        times = {"created_at": f"2026-01-05T12:0{key[-1]}:00.000Z"}
        shape = {"id": key, "uri": address, "account": self.account(key[0]), "visibility": "public", "content": f"<p>{key}</p>"}
        return {**shape, **times, "reblogs_count": 5}


@asynccontextmanager
async def serving(manner: Manner) -> AsyncIterator[SmallServer]:
    server = SmallServer(manner)
    async with TestServer(server.application()) as running:
        server.base = f"http://127.0.0.1:{running.port}"
        yield server


class Crawled(Struct, frozen=True):
    """A crawl that has ended."""

    ending: Ending
    crawl: Crawl
    database: Database

    async def count(self, sql: str, *values: object) -> int:
        async with self.database.reading() as tx:
            row = await tx.fetch_one(f"select count(*) as number from {sql}", *values)
        return int(row["number"]) if row else 0


@asynccontextmanager
async def crawled(
    server: SmallServer,
    flow: str,
    seeds: list[str],
    *,
    store: str = ":memory:",
    most: int = 400,
    more: str = "",
    is_guest: bool = False,
) -> AsyncIterator[Crawled]:
    """Runs a crawl of the server to its end."""
    async with opened(server, flow, seeds, store=store, most=most, more=more, tokens=0 if is_guest else 1) as crawl:
        ending = await crawl.process.run(crawl.seeds, slots=4, watch_every=timedelta(seconds=1))
        yield Crawled(ending, crawl, crawl.database)


@asynccontextmanager
async def opened(
    server: SmallServer, flow: str, seeds: list[str], *, store: str, most: int, more: str = "", tokens: int = 1
) -> AsyncIterator[Crawl]:
    """A crawl of the server that has not begun, of at most so many calls; `more`: tables at the end of its file."""
    text = (
        f"{flow}\nseeds = {msgspec.json.encode(seeds).decode()}\nstop.calls = {most}\n"
        f'[service]\nname = "small"\nprovider = "mastodon"\nbase = "{server.base}"\n{more}\n'
    )
    plan = msgspec.structs.replace(parse_crawl(text, Path("small.toml"), vocabulary()), store=store)
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-test")
    outside = Outside(
        clock=clock,
        transport=transport,
        vault=TokenVault("mastodon", [Token(value="secret", kind="user")] * tokens, base=server.base),
        glance=timedelta(milliseconds=50),
    )
    try:
        async with open_crawl(plan, outside) as crawl:
            yield crawl
    finally:
        await transport.close()
