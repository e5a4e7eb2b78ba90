"""Servers on loopback whose every received byte is recorded, one vault, and crawls made with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path

import msgspec
from aiohttp import web

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.clock import RealClock
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.leaks import Leak, Witness, stored_leaks, tapped
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.limits.vault import FileVault
from bowerbird.model import Credential, Secret, origin
from bowerbird.simulated.service import Setup, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.tokens import secret_values
from bowerbird.simulated.world import WorldSettings
from bowerbird.transport import HttpTransport

CLOCK = RealClock()
_GLANCE, _MOMENT, _LONG = timedelta(milliseconds=20), timedelta(milliseconds=300), timedelta(minutes=4)
_SEEDS = {"bluesky": ["did:plc:" + "b" * 24, "did:plc:" + "c" * 24]}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Scene:
    """Hosts that are listened to, the vault with their secrets, and what came of the crawls."""

    def __init__(self, folder: Path, stack: AsyncExitStack, store: str) -> None:
        self.witness = Witness()
        self.vault = FileVault(folder / "vault", "password", cost=2)
        self.bases: dict[str, str] = {}
        self.seeds: dict[str, list[str]] = {}
        self.stored: list[Leak] = []
        """Secrets found in the database after a crawl."""
        self.folder = folder
        self._stack = stack
        self._numbers = count()
        self._store = store

    async def simulated(self, name: str, provider: str) -> str:
        """A simulated server; the vault gets the credentials that it gave out, bound to it."""
        world = WorldSettings(seed=len(self.bases) + 1, accounts=60, start=CLOCK.now() - timedelta(days=10), longest_history=30)
        service = simulate(Setup(dialect=provider, world=world, tokens=1, app_tokens=1))
        base = await self._tap(name, await self._stack.enter_async_context(serve(service, CLOCK)))
        service.is_at(base)
        self.seeds[name] = [service.dialect.account_key(number) for number in range(6)]
        for token in service.tokens:
            self.keep(f"{name}-{token.kind}", provider, secret_values(token), base, kind=token.kind)
        return base

    async def answering(self, name: str, answer: Handler) -> str:
        """A server that answers whatever it likes."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.2, handler_cancellation=True)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return await self._tap(name, f"http://127.0.0.1:{runner.addresses[0][1]}")

    async def _tap(self, name: str, base: str) -> str:
        self.bases[name] = await self._stack.enter_async_context(tapped(base, self.witness))
        return self.bases[name]

    def keep(self, name: str, provider: str, values: dict[str, str], *servers: str, kind: str = "user") -> None:
        bound = Credential(name=name, provider=provider, kind=kind, account=name, servers=tuple(map(origin, servers)))
        self.vault.add(bound, Secret(name=name, values=values))

    def plan(
        self, provider: str, name: str, service: str = "", more: str = "", *, flow: str = "timelines", calls: int = 8
    ) -> CrawlPlan:
        """A short crawl of one server; `service` goes on inside its table, `more` comes after it."""
        seeds = msgspec.json.encode(self.seeds.get(name, _SEEDS.get(provider, ["1", "2"]))).decode()
        text = (
            (flow if "=" in flow else f'flow = "{flow}"')
            + ("\n" if flow == "listen" else f"\nseeds = {seeds}\n")
            + f'stop = {{calls = {calls}, duration = "2s"}}\n'
            f'[service]\nname = "{name}"\nprovider = "{provider}"\nbase = "{self.bases[name]}"\n{service}\n{more}\n'
        )
        # Each is a crawl of its own: what it may call is counted over all its runs.
        plan = parse_crawl(text, self.folder / f"crawl{next(self._numbers)}.toml", vocabulary())
        return msgspec.structs.replace(plan, store=self._store)

    async def run(self, plan: CrawlPlan, until: Callable[[], bool] | None = None) -> Ending:
        """Runs a crawl to its end; with `until` it ends soon after that is so, and however long that takes."""
        plan = plan if until is None else _patient(plan)
        transport = HttpTransport(CLOCK, "test")
        outside = Outside(clock=CLOCK, transport=transport, vault=self.vault, is_paced=False)
        try:
            async with open_crawl(plan, outside) as crawl, _ended(crawl, until):
                ending = await crawl.process.run(crawl.seeds, slots=2, watch_every=timedelta(milliseconds=200))
                self.stored = await stored_leaks(crawl.database, self.vault)
                return ending
        finally:
            await transport.close()

    def names(self) -> Sequence[str]:
        return [each.name for each in self.vault.credentials()]


def _patient(plan: CrawlPlan) -> CrawlPlan:
    stop = msgspec.structs.replace(plan.flow.stop, duration=_LONG)
    return msgspec.structs.replace(plan, flow=msgspec.structs.replace(plan.flow, stop=stop))


@asynccontextmanager
async def _ended(crawl: Crawl, until: Callable[[], bool] | None) -> AsyncIterator[None]:
    """Ends the crawl a moment after something is so: what would follow it follows at once."""

    async def watch() -> None:
        while until is not None and not until():
            await CLOCK.sleep_until(CLOCK.now() + _GLANCE)
        await CLOCK.sleep_until(CLOCK.now() + _MOMENT)
        crawl.process.end("seen")

    watching = asyncio.create_task(watch()) if until is not None else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()


@asynccontextmanager
async def scene(folder: Path, store: str = "") -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        yield Scene(folder, stack, store or str(folder / "crawl.db"))
