"""One policy on one world through the real engine, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, structs, to_builtins

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.work.lanes import Lane
from bowerbird.evaluate.coverage.oracle import Oracle
from bowerbird.evaluate.coverage.posting_times import read_posting_times
from bowerbird.evaluate.coverage.scenes import SCENES, Scene, budget
from bowerbird.evaluate.coverage.truth import Captured, Written, captured, written
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.ports import Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import from_ms, to_ms

DIALECT = "twitter_v1"

Say = Callable[[str], None]


class Order(Struct, frozen=True, kw_only=True):
    """What is to be run."""

    policy: str
    world: WorldSettings
    days: float
    posting_times: Path | None = None
    worlds: int = 1
    """So many side by side, with the seeds that follow: policies alone may have more accounts than one world has."""

    @property
    def accounts(self) -> int:
        return self.world.accounts * self.worlds


def make_world(order: Order) -> World:
    """The world of an order: drawn, or written at recorded times."""
    recorded = read_posting_times(order.posting_times, order.world.accounts) if order.posting_times else None
    return World(order.world, recorded)


class Outcome(Struct, frozen=True, kw_only=True):
    """How it went."""

    policy: str
    captured: Captured
    calls: int
    lookups: int
    refused: int
    seconds: float

    @property
    def figures(self) -> dict[str, Any]:
        asked = {"calls": self.calls, "lookups": self.lookups, "refused": self.refused}
        return {**to_builtins(self.captured), **asked, "asks": SCENES[self.policy].asks}


def run_policy(order: Order, say: Say = lambda text: None) -> Outcome:
    """Runs one policy from the world's first day on."""
    outcome: Outcome = run_virtual(lambda clock: _Run(order, clock, say).run(), start=order.world.start)
    return outcome


class _Run:
    def __init__(self, order: Order, clock: VirtualClock, say: Say) -> None:
        self._order = order
        self._scene: Scene = SCENES[order.policy]
        self._clock = clock
        self._say = say
        self._laboratory = Laboratory(Setup(dialect=DIALECT, world=order.world), clock, world=make_world(order))

    async def run(self) -> Outcome:
        watch = self._clock.stopwatch()
        laboratory, end = self._laboratory, self._order.world.start + timedelta(days=self._order.days)
        there = written(laboratory.service.world, self._order.world.start, end)
        async with laboratory.crawl(self._plan()) as crawl:
            if self._scene.knows_truth:
                self._enlighten(crawl, there)
            telling = asyncio.create_task(self._tell(crawl))
            await laboratory.run(crawl)
            telling.cancel()
            found = await _found(crawl.database, end)
            calls, lookups = await _calls(crawl.database)
        return Outcome(
            policy=self._order.policy,
            captured=captured(there, found, self._order.days),
            calls=calls,
            lookups=lookups,
            refused=laboratory.service.limiter.refused,
            seconds=self._clock.stopwatch() - watch,
        )

    async def _tell(self, crawl: Crawl) -> None:
        """Says every day how far it is."""
        for day in count(1):
            await self._clock.sleep_until(self._order.world.start + timedelta(days=day))
            self._say(f"  {self._order.policy}: day {day} of {self._order.days:g}, {crawl.tally.size().calls:,} calls")

    def _plan(self) -> CrawlPlan:
        laboratory, accounts = self._laboratory, self._order.world.accounts
        plan = laboratory.plan(self._scene.flow, laboratory.keys(), self._scene.stop(accounts, self._order.days))
        limits = budget(accounts, self._scene.window_share).limits
        return structs.replace(plan, services=(structs.replace(plan.services[0], limits=limits),))

    def _enlighten(self, crawl: Crawl, there: Written) -> None:
        """Puts the oracle in the place of the ranker of look-ups: it is no policy that a flow could name."""
        account = self._laboratory.service.account

        def next_post(target: str, now: datetime) -> datetime | None:
            ms = there.next_after(account(target), to_ms(now))
            return None if ms is None else from_ms(ms + 1)

        lanes = cast("MutableMapping[int, Lane]", crawl.lanes)
        for number, lane in crawl.lanes.items():
            if lane.facet.is_lookup:
                lanes[number] = structs.replace(lane, ranker=Oracle(next_post))


async def _found(database: Database, end: datetime) -> dict[int, int]:
    """When each post was stored, in ms, by the number that its key tells; nothing after the end counts."""
    async with database.reading() as tx:
        rows = await tx.fetch("select substr(id, 3) as key, found_at from posts where found_at <= ?", to_ms(end) * 1000)
    return {int(row["key"]): row["found_at"] // 1000 for row in rows}


async def _calls(database: Database) -> tuple[int, int]:
    async with database.reading() as tx:
        rows = await tx.fetch("select l.facet, count(*) as n from calls c join lanes l on l.lane = c.lane group by l.facet")
    by_facet = {row["facet"]: row["n"] for row in rows}
    return sum(by_facet.values()), by_facet.get("profiles", 0)
