"""One round: a crawl from nothing to its end, killed on the way, and judged."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.evaluate.crash.inventory import Inventory, compare, take_inventory
from bowerbird.evaluate.crash.scene import Scene
from bowerbird.evaluate.crash.stores import Stores
from bowerbird.evaluate.crash.tally import Tally
from bowerbird.ports import Clock
from bowerbird.simulated.service import SimulatedService
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import World
from bowerbird.store.opening import open_store

PATIENCE = timedelta(minutes=3)
"""How long a crawl may take to finish when it is left alone."""
_AT_WORK = 0.6
"""Share of the kills that wait for the first call; the others come before it or about then."""
_EARLY = 0.35
"""Share of those that come while the program is still being loaded."""
_ACTIVE = timedelta(seconds=1)
"""How far into its work a process may come."""
_LOOK = timedelta(milliseconds=10)
_GLIMPSE = timedelta(milliseconds=1)


class Reference(Struct, frozen=True, kw_only=True):
    """What a round is compared with: the same crawl, not interrupted."""

    scene: Scene
    world: World
    inventory: Inventory
    start_up: timedelta
    """From the start of the process to its first call."""


class Round:
    """A crawl file, its store and the service it asks, which lives on whatever happens to the crawl."""

    def __init__(self, service: SimulatedService, file: Path, store: str, clock: Clock) -> None:
        self.service = service
        self.file = file
        self.store = store
        self._clock = clock

    async def finish(self, tally: Tally, process: CrawlProcess | None = None) -> None:
        """Lets the crawl come to its end, started if need be; notes it when it does not end well."""
        process = process or await CrawlProcess.start(self.file)
        has_ended = await process.ends_within(PATIENCE)
        await process.kill()
        tally.wedged += not has_ended
        if not has_ended or process.code:
            tally.failed += has_ended
            why = f"exit code {process.code}" if has_ended else f"not finished after {PATIENCE}"
            tally.note("failed", f"{why}: {process.last_words()}")

    async def first_call(self, process: CrawlProcess, patience: timedelta = PATIENCE) -> timedelta:
        """How long a process that was just started takes to its first call, if it makes one before our patience ends."""
        # Good answers only: a new crawl first asks, without a token, whether the service is there at all.
        began, before = self._clock.now(), self.service.statuses[200]
        while self.service.statuses[200] == before and process.code is None and self._clock.now() < began + patience:
            await self._clock.sleep_until(self._clock.now() + _LOOK)
        return self._clock.now() - began

    async def kill(self, stores: Stores, moments: Moments, most: int, tally: Tally) -> None:
        """Starts the crawl and kills it, again and again; returns early when it came to its end before a kill."""
        while tally.kills < most:
            process = await CrawlProcess.start(self.file)
            if await self._has_ended_before(moments, process):
                await self.finish(tally, process)
                return
            await process.kill()
            tally.killed(await stores.look(self.store, process.pid, self.file.parent))

    async def _has_ended_before(self, moments: Moments, process: CrawlProcess) -> bool:
        """Lets the process live until its moment has come."""
        if moments.is_at_work():
            moments.learn(await self.first_call(process, 2 * moments.start_up))
            has_ended = await process.ends_within(moments.of_work())
            return has_ended or await self._has_ended_at_an_answer(process)
        return await process.ends_within(moments.of_start())

    async def _has_ended_at_an_answer(self, process: CrawlProcess) -> bool:
        """Lets the process live until an answer is on its way to it, so that a call is under way; not for ever."""
        until, before = self._clock.now() + _ACTIVE, self.service.statuses[200]
        while self.service.statuses[200] == before and process.code is None and self._clock.now() < until:
            await self._clock.sleep_until(self._clock.now() + _GLIMPSE)
        return process.code is not None

    async def inventory(self) -> Inventory:
        async with open_store(self.store, self._clock) as database:
            return await take_inventory(database)

    def judge(self, found: Inventory, wanted: Inventory, tally: Tally) -> None:
        """Compares what was stored, and asks the service what it saw."""
        audit = self.service.audit()
        tally.judge(compare(found, wanted), audit)
        tally.unlogged += max(0, _served(audit["buckets"]) - found.logged)
        tally.calls += found.logged
        tally.lost_calls += found.lost_calls
        tally.items += found.items


class Moments:
    """Random moments to die: while the program is loaded, while it recovers what the last one left, or at work."""

    def __init__(self, seed: random.Random, start_up: timedelta) -> None:
        self._random = seed
        self.start_up = start_up
        """From the start of a process to its first call, which differs between databases and with the load of the machine."""

    def learn(self, start_up: timedelta) -> None:
        self.start_up = (self.start_up + start_up) / 2

    def is_at_work(self) -> bool:
        return self._random.random() < _AT_WORK

    def of_work(self) -> timedelta:
        """After its first call."""
        return self._random.random() * _ACTIVE

    def of_start(self) -> timedelta:
        """After its start: mostly when it looks at its database, sometimes before."""
        earliest = 0.0 if self._random.random() < _EARLY else 0.7
        return self._random.uniform(earliest, 1.1) * self.start_up


@asynccontextmanager
async def opened_round(scene: Scene, world: World, stores: Stores, folder: Path, clock: Clock) -> AsyncIterator[Round]:
    """A service and a store without a past, and a crawl file for them."""
    service = scene.service(world)
    async with serve(service, clock) as base:
        store = await stores.fresh(folder)
        yield Round(service, scene.write(folder, service, base, store), store, clock)


def _served(buckets: dict[str, dict[str, int]]) -> int:
    """Requests that were counted, each in exactly one of the throttles per token."""
    return sum(sums["used"] for name, sums in buckets.items() if name == "throttle_per_token_api" or name.endswith("[user]"))
