"""Recorded timelines of the simulated service, served from memory by a process of their own: the client is what is measured."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from urllib.parse import urlencode

from aiohttp import web
from msgspec import Struct

from bowerbird.clock import EPOCH, VIRTUAL_START, RealClock
from bowerbird.model import Answer, Ask, Progress, Request, Service
from bowerbird.providers import provider
from bowerbird.providers.mastodon.api import Mastodon
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.world import WorldSettings

ALLOWANCE = 1_000_000_000
WINDOW = timedelta(days=30)
"""What the server says it allows: so much that no limit is ever felt, yet every answer carries its numbers."""

_WORLD = WorldSettings(seed=3, accounts=4_000, longest_history=800)
_NO_LIMITS = Scale(limits=1e6)
_LIMIT_HEADERS = {"mastodon": "x-ratelimit", "twitter_v1": "x-rate-limit"}

Pages = dict[str, tuple[dict[str, str], bytes]]
"""Headers and body by path and query."""


class Recording(Struct, frozen=True):
    """The timelines of some accounts, each to its end."""

    dialect: str
    pages: Pages
    keys: list[str]


def record(dialect: str, pages: int) -> Recording:
    """Asks the simulated service for whole timelines until there are so many pages."""
    service = simulate(Setup(dialect=dialect, world=_WORLD, scale=_NO_LIMITS, tokens=0, app_tokens=1))
    recording = Recording(dialect, {}, [])
    for account in range(len(service.world)):
        key = service.dialect.account_key(account)
        timeline = _timeline(service, key)
        # The nearly silent would measure little but the round trip.
        if len(timeline) > 1:
            recording.pages.update(timeline)
            recording.keys.append(key)
        if len(recording.pages) >= pages:
            break
    return recording


def _timeline(service: SimulatedService, key: str) -> Pages:
    name = service.dialect.name
    speaks, asked = provider(name), Service(name="recorded", provider=name, base="https://recorded.example")
    headers = {"authorization": f"Bearer {next(iter(service.tokens)).value}"}
    pages: Pages = {}
    progress: Progress | None = Progress()
    while progress is not None:
        ask = Ask("timeline", (key,), progress)
        request = speaks.request(ask)
        reply = service.receive(Request(path=request.path, query=request.query, headers=headers), VIRTUAL_START).reply
        kept = {name: text for name, text in reply.headers.items() if name in ("link", "content-type")}
        pages[f"{request.path}?{urlencode(request.query)}"] = (kept, reply.body)
        answer = Answer(
            status=reply.status, headers=reply.headers, body=reply.body, sent_at=VIRTUAL_START, received_at=VIRTUAL_START
        )
        page = speaks.parse(ask, answer, asked)
        progress = Progress(page.cursor, None, page.head) if page.cursor else None
    return pages


class Served(Struct, frozen=True):
    """A recording being served, as its client sees it."""

    base: str
    dialect: str
    keys: list[str]
    pages: int
    mean_bytes: int
    pipe: Connection

    def so_far(self) -> tuple[int, float]:
        """Requests answered and processor seconds used by the server."""
        self.pipe.send("so far")
        calls, seconds = self.pipe.recv()
        return calls, seconds


@contextmanager
def served(dialect: str, pages: int) -> Iterator[Served]:
    """Records and serves in another process until the block ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, dialect, pages), daemon=True)
    process.start()
    theirs.close()
    try:
        base, keys, count, mean = ours.recv()
        yield Served(base, dialect, keys, count, mean, ours)
    finally:
        process.terminate()
        process.join()


def _run(pipe: Connection, dialect: str, pages: int) -> None:
    asyncio.run(_serve(pipe, record(dialect, pages)))


async def _serve(pipe: Connection, recording: Recording) -> None:
    door = _Door(recording)
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", door.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sizes = [len(body) for _, body in recording.pages.values()]
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    pipe.send((base, recording.keys, len(sizes), sum(sizes) // len(sizes)))
    began = time.process_time()
    while await asyncio.to_thread(_is_asked, pipe):
        pipe.send((door.calls, time.process_time() - began))


def _is_asked(pipe: Connection) -> bool:
    return bool(pipe.recv())


def _itself(path: str) -> tuple[dict[str, str], bytes]:
    """What the server says that it is."""
    if path != Mastodon.probe_path:
        raise web.HTTPNotFound
    return {"content-type": "application/json"}, b'{"domain":"recorded.example","version":"4.5.0"}'


class _Door:
    """Answers from memory, with limits in the headers as the real service has them."""

    def __init__(self, recording: Recording) -> None:
        self._pages = recording.pages
        self.calls = 0
        prefix = _LIMIT_HEADERS[recording.dialect]
        reset = EPOCH + ((RealClock().now() - EPOCH) // WINDOW + 1) * WINDOW
        self._remaining = f"{prefix}-remaining"
        written = reset.isoformat() if recording.dialect == "mastodon" else str(int(reset.timestamp()))
        self._limits = {f"{prefix}-limit": str(ALLOWANCE), f"{prefix}-reset": written}

    async def answer(self, request: web.Request) -> web.Response:
        self.calls += 1
        headers, body = self._pages.get(request.path_qs) or _itself(request.path)
        return web.Response(body=body, headers={**headers, **self._limits, self._remaining: str(ALLOWANCE - self.calls)})
