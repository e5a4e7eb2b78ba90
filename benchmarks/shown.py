"""A dashboard in a process of its own over a store, with one page more that is empty, and somebody who is logged in and asks."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bowerbird.clock import RealClock
from bowerbird.db.threaded import open_threaded
from bowerbird.transport.serving import Listening, serving
from bowerbird.web.dashboard import dashboard, dashboard_routes
from bowerbird.web.serving import make_ready
from bowerbird.web.site import Site

EMPTY = "/empty"
_TAKEN = "x-processor-milliseconds"


class Shown(Struct, frozen=True, kw_only=True):
    """Where a dashboard is, and what can be asked of it."""

    base: str
    key: str
    routes: tuple[str, ...]
    """Every path that is asked with GET, as its route is written."""


@contextmanager
def shown(store: str) -> Iterator[Shown]:
    """A dashboard over a store until the block ends."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(store, theirs), daemon=True)
    process.start()
    try:
        yield Shown(**ours.recv())
    finally:
        ours.send("end")
        process.join(20)


def _serve(store: str, told: Connection) -> None:
    asyncio.run(_served(store, told))


async def _served(store: str, told: Connection) -> None:
    clock = RealClock()
    database = await open_threaded(store, clock)
    site = Site(database, clock, "benchmark")
    app = dashboard(site)
    make_ready(site)
    app.router.routes.insert(0, Route(EMPTY, _empty(site)))
    paths = [route.path for route in dashboard_routes(site) if isinstance(route, Route) and "GET" in (route.methods or ())]
    async with serving(_timed(app), Listening()) as base:
        key = await site.guard.entrance.key() or ""
        told.send({"base": base, "key": key, "routes": tuple(paths)})
        await asyncio.to_thread(told.recv)
        site.live.close()
    await database.close()


def _empty(site: Site) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return site.page(request, "layout.html", title="Empty")

    return endpoint


def _timed(app: Any) -> Any:
    """The same, saying with each answer which processor time went into it until it began to be sent. One asks at a time."""

    async def timed(scope: Any, receive: Any, send: Any) -> None:
        began = time.process_time()

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                taken = str((time.process_time() - began) * 1000).encode()
                message = {**message, "headers": [*message["headers"], (_TAKEN.encode(), taken)]}
            await send(message)

        await app(scope, receive, sent)

    return timed


class Answered(NamedTuple):
    status: int
    processor: float
    """Milliseconds of the dashboard's process."""
    body: bytes


class Browser:
    """Asks over one connection, logged in."""

    def __init__(self, where: Shown) -> None:
        parts = urlsplit(where.base)
        self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self._cookie = ""
        status = self.get(f"/enter?key={where.key}").status
        if not self._cookie:
            raise RuntimeError(f"the dashboard let nobody in: {status}")

    @property
    def cookie(self) -> str:
        return self._cookie

    def get(self, path: str) -> Answered:
        self._connection.request("GET", path, headers={"Cookie": self._cookie} if self._cookie else {})
        answer = self._connection.getresponse()
        body = answer.read()
        for value in answer.headers.get_all("set-cookie") or ():
            self._cookie = "; ".join(filter(None, (self._cookie, value.partition(";")[0])))
        return Answered(answer.status, float(answer.headers.get(_TAKEN) or 0), body)
