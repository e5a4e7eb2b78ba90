"""How much of what the limits allow is used, and is any call refused? 48 hours in virtual time.

The ledgers (on SQLite), the scheduler and the limiter are the real ones. The server's clock is off and drifts, calls take
their time, some never arrive and some are counted though their answers are lost; in the middle the service is down for three
quarters of an hour. It is done once with windows aligned to the clock and once with windows that start with their first
call.

`used` is the share of what windows *allow*: the calls that an all-knowing client could have made, see
`quota_service.allowed`. Such a client has spent the whole window before an outage begins that nobody else can foresee; a
client that spreads its calls cannot. So the outage here begins in the last minute of an aligned window: one that begins
early in a window costs what the window still held, up to three quarters of one window in 192 (0.4 %).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.work.scheduler import Choice, Scheduler
from bowerbird.db import open_database
from bowerbird.evaluate.quota_service import WINDOW, QuotaService, Scene, allowed
from bowerbird.limits.rate_limits import RateLimits, call_charges
from bowerbird.model import Charge, Credential, Facet, Limit, Page, Subject, Turn, WindowKind
from bowerbird.ports import Database

PUBLISHED = 0.985
SLOTS = 100
_TELL_EVERY = timedelta(hours=4)

Say = Callable[[str], None]


class Tally(Struct, kw_only=True):
    """The outcome of one run."""

    calls: int
    counted: int
    allowed: int
    refused: int
    lost: int

    @property
    def used(self) -> float:
        return self.counted / self.allowed


def evaluate_quota(*, hours: float = 48.0, seed: int = 1, credentials: int = 10, say: Say = print) -> dict[str, Any]:
    """Both runs and their figures."""
    tallies = {}
    for kind in (WindowKind.ALIGNED, WindowKind.FIRST_CALL):
        scene = Scene(hours=hours, seed=seed, credentials=credentials, kind=kind, outage=_outage(hours))
        say(f"{kind.value} windows: {hours:g} hours, {credentials} credentials, {len(scene.allowances)} facets")
        tallies[kind] = play(scene, say)
    return _figures(tallies[WindowKind.ALIGNED], tallies[WindowKind.FIRST_CALL], hours, credentials)


def play(scene: Scene, say: Say) -> Tally:
    """One run in virtual time."""
    tally: Tally = run_virtual(lambda clock: _Client(scene, clock, say).run())
    return tally


def _outage(hours: float) -> tuple[timedelta, timedelta]:
    """From the last minute of the window before half-time, for three windows and a little."""
    begin = timedelta(hours=hours / 2) // WINDOW * WINDOW - timedelta(minutes=1)
    return begin, begin + 3 * WINDOW + timedelta(minutes=2)


def _figures(aligned: Tally, first_call: Tally, hours: float, credentials: int) -> dict[str, Any]:
    return {
        "used": round(aligned.used, 5),
        "used_first_call": round(first_call.used, 5),
        "refused": aligned.refused + first_call.refused,
        "published": PUBLISHED,
        "calls": aligned.calls + first_call.calls,
        "lost_answers": aligned.lost + first_call.lost,
        "allowed": aligned.allowed,
        "allowed_first_call": first_call.allowed,
        "virtual_hours": hours,
        "credentials": credentials,
        "facets": len(Scene().allowances),
        "allowances": list(Scene().allowances),
    }


class _Client:
    """A crawl without content: always something to ask in every lane, charged, called and settled as in a real one."""

    def __init__(self, scene: Scene, clock: VirtualClock, say: Say) -> None:
        self._scene = scene
        self._clock = clock
        self._say = say
        self._service = QuotaService(scene, clock)
        self._ledgers = RateLimits()
        self._scheduler = Scheduler(self._ledgers)
        self._changed = asyncio.Event()
        self._flying: set[asyncio.Task[None]] = set()
        self._calls = 0
        self._lost = 0
        self._began = self._told = clock.now()

    async def run(self) -> Tally:
        database = await open_database(":memory:", self._clock)
        await database.create_tables()
        for facet in range(len(self._scene.allowances)):
            self._scheduler.add(Turn(facet), 1.0, self._options(facet))
        await self._call_until(self._clock.now() + self._scene.length, database)
        # Counted before the last answers come home: what the server took within the run.
        counted = sum(self._service.limiter.used(throttle.name) for throttle in self._service.throttles)
        await asyncio.gather(*self._flying)
        await database.close()
        return Tally(
            calls=self._calls,
            counted=counted,
            allowed=allowed(self._scene) * self._scene.credentials,
            refused=self._service.limiter.refused,
            lost=self._lost,
        )

    def _options(self, facet: int) -> dict[str | None, tuple[Charge, ...]]:
        limit = Limit(
            bucket="{credential}:{facet}", allowance=self._scene.allowances[facet], window=WINDOW, kind=self._scene.kind
        )
        row = Facet(name=f"facet{facet}", subject=Subject.USER, yields=frozenset({"users"}), limits=(limit,))
        names = [f"key{n}" for n in range(self._scene.credentials)]
        return {name: call_charges(row, "quota", Credential(name=name, provider="quota")) for name in names}

    async def _call_until(self, end: datetime, database: Database) -> None:
        while (now := self._clock.now()) < end:
            self._tell(now)
            self._changed.clear()
            choice = self._scheduler.next(now) if len(self._flying) < SLOTS else end
            if isinstance(choice, Choice):
                await self._start(choice, now, database)
            else:
                await self._clock.wait(self._changed, min(choice or end, end))

    async def _start(self, choice: Choice, now: datetime, database: Database) -> None:
        async with database.transaction() as tx:
            charges = await self._ledgers.charge(tx, choice.charges, now)
        self._scheduler.touched(charge.bucket for charge in charges)
        self._calls += 1
        task = asyncio.create_task(self._call(choice, charges, database))
        self._flying.add(task)
        task.add_done_callback(self._flying.discard)

    async def _call(self, choice: Choice, charges: Any, database: Database) -> None:
        heard = await self._service.call(choice.turn.lane, str(choice.credential))
        self._lost += heard.answer.status == 0
        async with database.transaction() as tx:
            await self._ledgers.settle(tx, charges, Page(outcome=heard.outcome, reading=heard.reading, results=1), heard.answer)
        self._scheduler.touched(charge.bucket for charge in charges)
        self._changed.set()

    def _tell(self, now: datetime) -> None:
        if now - self._told >= _TELL_EVERY:
            self._told = now
            hours = (now - self._began) / timedelta(hours=1)
            self._say(f"  {hours:4.0f} h  {self._calls:>9,} calls  {self._service.limiter.refused} refused  {self._lost:,} lost")
