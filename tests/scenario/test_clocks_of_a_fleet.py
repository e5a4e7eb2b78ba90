"""Workers on machines whose clocks are wrong and drift share the limits of one service: nobody calls before a window opens."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from bowerbird.clock import RealClock, VirtualClock, run_virtual
from bowerbird.crawl.work.scheduler import Choice, Scheduler
from bowerbird.db import open_database
from bowerbird.db.shared_time import set_clock
from bowerbird.errors import Taken
from bowerbird.evaluate.quota_service import WINDOW, QuotaService, Scene, allowed
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Charge, Limit, Page, Turn, WindowKind
from bowerbird.ports import Database

MACHINES = ((30.0, 1.0), (-30.0, 1.0), (10.0, 1.0002), (-5.0, 0.9998))
"""How many seconds each clock is ahead, and how fast it runs."""
SCENE = Scene(hours=2, credentials=1, allowances=(60,), skew=timedelta(seconds=7), drift=0, lost_before=0, lost_after=0)
SET_EVERY = timedelta(seconds=30)
LOOK_EVERY = timedelta(seconds=5)


class Shared:
    """A database that has a clock of its own."""

    def __init__(self, database: Database, truth: VirtualClock) -> None:
        self._database = database
        self._truth = truth

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def time(self) -> datetime:
        return self._truth.now()


class Worker:
    """One machine with its own clock, its own copy of the shared accounts, and always something to ask."""

    def __init__(self, service: QuotaService, database: Any, truth: VirtualClock, ahead: float, rate: float) -> None:
        self._service = service
        self._database = database
        began = truth.now()
        self._clock = RealClock(
            lambda: truth.now() + timedelta(seconds=ahead), lambda: (truth.now() - began).total_seconds() * rate
        )
        self._ledgers = RateLimits(pace=False)
        self._scheduler = Scheduler(self._ledgers)
        limit = Limit(bucket="token", allowance=SCENE.allowances[0], window=WINDOW, kind=SCENE.kind)
        self._scheduler.add(Turn(0), 1.0, {None: (Charge("token", 1, limit),)})

    async def run(self, *, heeds: bool) -> None:
        """Calls whenever the ledgers allow it, until it is ended."""
        set_at = self._clock.now()
        while True:
            if heeds and self._clock.now() >= set_at:
                await set_clock(self._database, self._clock)
                set_at = self._clock.now() + SET_EVERY
            choice = self._scheduler.next(self._clock.now())
            if isinstance(choice, Choice):
                await self._call(choice)
            else:
                await self._clock.sleep_until(min(choice or set_at, self._clock.now() + LOOK_EVERY))
                await self._look()

    async def _look(self) -> None:
        """Learns what the others did, as every process does again and again."""
        async with self._database.transaction() as tx:
            await self._ledgers.load(tx)
        self._scheduler.touched(["token"])

    async def _call(self, choice: Choice) -> None:
        try:
            async with self._database.transaction() as tx:
                charges = await self._ledgers.charge(tx, choice.charges, self._clock.now())
        except Taken:
            self._scheduler.touched(["token"])
            await asyncio.sleep(0)
            return
        sent = self._clock.now()
        heard = await self._service.call(0, "one")
        answer = structs.replace(heard.answer, sent_at=sent, received_at=self._clock.now())
        async with self._database.transaction() as tx:
            await self._ledgers.settle(tx, charges, Page(outcome=heard.outcome, reading=heard.reading, results=1), answer)
        self._scheduler.touched(["token"])


def play(kind: WindowKind, *, heeds: bool) -> tuple[int, float]:
    """Refusals, and which part of what was allowed was used."""
    scene = structs.replace(SCENE, kind=kind)

    async def main(truth: VirtualClock) -> tuple[int, float]:
        database = await open_database(":memory:", truth)
        await database.create_tables()
        service = QuotaService(scene, truth)
        shared = Shared(database, truth)
        work = [asyncio.create_task(Worker(service, shared, truth, *each).run(heeds=heeds)) for each in MACHINES]
        await asyncio.wait(work, timeout=scene.length.total_seconds())
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await database.close()
        return service.limiter.refused, service.limiter.used(service.throttles[0].name) / allowed(scene)

    found: tuple[int, float] = run_virtual(main)
    return found


@pytest.mark.parametrize("kind", [WindowKind.ALIGNED, WindowKind.FIRST_CALL])
def test_machines_that_go_by_the_time_of_their_database_are_never_refused(kind: WindowKind) -> None:
    refused, used = play(kind, heeds=True)
    assert refused == 0
    assert used > 0.9


def test_each_by_its_own_clock_they_would_be() -> None:
    refused, _ = play(WindowKind.ALIGNED, heeds=False)
    assert refused > 0
