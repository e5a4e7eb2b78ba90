"""What befalls a fleet while it works: kills, stops, pauses, a restart of its database."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from bowerbird.crawl.life import controls, registry
from bowerbird.db import open_database
from bowerbird.errors import BowerbirdError
from bowerbird.evaluate.fleet.processes import FleetProcess
from bowerbird.evaluate.fleet.scene import CRAWL, Fleet
from bowerbird.evaluate.postgres import Server
from bowerbird.model import CrawlState
from bowerbird.ports import Clock

_NUMBER = "select crawl, state from crawls where name = ?"
_STOPPED = timedelta(seconds=3)
_PAUSED = timedelta(seconds=2)
_FACET = "timeline"


class Disturbing:
    """Does one thing after the other to a fleet, at random moments."""

    def __init__(self, fleet: Fleet, server: Server, store: str, clock: Clock, seed: int) -> None:
        self._fleet = fleet
        self._server = server
        self._store = store
        self._clock = clock
        self._random = random.Random(seed)
        self.done: Counter[str] = Counter()

    async def run(self, kills: int) -> None:
        """Kills that often; in between some are stopped for a while, the crawl or a facet of it is paused, and the database
        crashes once. Ends early when the crawl has."""
        others = [self._stop, self._pause, self._pause_facet, self._stop, self._restart, self._pause_worker]
        for number in range(kills):
            if await self._is_over():
                return
            await self._kill()
            if number % 2:
                await others[number // 2 % len(others)]()
            await self._wait(self._random.uniform(0.3, 1.5))

    async def _kill(self) -> None:
        victim = self._random.choice(self._fleet.everybody)
        if victim.code is not None:
            return
        await victim.kill()
        self.done["kills" if victim is not self._fleet.coordinator else "kills of the coordinator"] += 1
        await self._wait(self._random.uniform(0, 1))
        await victim.start()

    async def _stop(self) -> None:
        """One sleeps, and wakes up with calls in its hands."""
        sleeper: FleetProcess = self._random.choice(self._fleet.workers)
        sleeper.signal(signal.SIGSTOP)
        await self._wait(_STOPPED.total_seconds())
        sleeper.signal(signal.SIGCONT)
        self.done["stops"] += 1

    async def _pause(self) -> None:
        await self._wish(lambda tx, crawl, wanted: registry.set_wanted(tx, crawl, wanted, self._clock.now()))

    async def _pause_facet(self) -> None:
        await self._wish(
            lambda tx, crawl, wanted: controls.wish(tx, crawl, controls.Kind.FACET, _FACET, wanted, self._clock.now())
        )

    async def _pause_worker(self) -> None:
        name = self._random.choice(self._fleet.workers).part.name
        await self._wish(
            lambda tx, crawl, wanted: controls.wish(tx, crawl, controls.Kind.WORKER, name, wanted, self._clock.now())
        )

    async def _wish(self, say: Callable[..., object]) -> None:
        """Pauses something, and lets it go on after a while."""
        for wanted in (CrawlState.PAUSED, CrawlState.RUNNING):
            await self._in_database(say, wanted)
            await self._wait(_PAUSED.total_seconds())
        self.done["pauses"] += 1

    async def _restart(self) -> None:
        await asyncio.to_thread(self._server.restart)
        self.done["restarts of the database"] += 1

    async def _in_database(self, say: Callable[..., object], wanted: CrawlState) -> None:
        database = await open_database(self._store, self._clock)
        try:
            async with database.transaction() as tx:
                row = await tx.fetch_one(_NUMBER, CRAWL)
                if row is not None and row["state"] in (CrawlState.RUNNING, CrawlState.PAUSED):
                    await say(tx, row["crawl"], wanted)  # type: ignore[misc]
        finally:
            await database.close()

    async def _is_over(self) -> bool:
        with suppress(BowerbirdError):
            database = await open_database(self._store, self._clock)
            try:
                async with database.reading() as tx:
                    row = await tx.fetch_one(_NUMBER, CRAWL)
            finally:
                await database.close()
            return row is not None and row["state"] in (CrawlState.FINISHED, CrawlState.FAILED)
        return False

    async def _wait(self, seconds: float) -> None:
        await self._clock.sleep_until(self._clock.now() + timedelta(seconds=seconds))
