"""One order on one world through the real engine, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.community.countries import description
from bowerbird.evaluate.community.figures import Course, figures_of, read_course
from bowerbird.evaluate.coverage.scenes import budget
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.nationality.candidates import HOME, START
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.settings import PUBLISHED_SPREAD, to_ms

Say = Callable[[str], None]
_ECHO = """
flow.seeds = ["profiles"]
flow.facets.profiles = {ranker = "focus", weight = 4, options = {members = "echo", random = 0}}
flow.facets.timeline = {ranker = "fifo", max_pages = 1}
flow.facets.followers = {ranker = "random", max_pages = 1}
flow.edges = [
    {from = "profiles", to = "profiles", take = "mentions", when = "judged('community', 'yes')", wakes = false},
    {from = "profiles", to = "timeline", take = "asked", when = "judged('community', 'undecided') and first and not protected"},
    {from = "profiles", to = "followers", take = "asked", when = "judged('community', 'yes') and not protected", wakes = false},
    {from = "timeline", to = "profiles", take = "authors", when = "judged('community', 'yes') and new_post and not along"},
    {from = "followers", to = "profiles", take = "neighbours", wakes = false},
]
"""
FLOWS = {"echo": _ECHO, "ours": 'flow.use = "community"'}
_MEMBERS = 0.2
"""Of all accounts of the world."""
_PLENTY = 1.6
"""Calls beside those that one client made for as many members: candidates and lists take some."""


class Order(Struct, frozen=True, kw_only=True):
    """What is to be run."""

    name: str
    accounts: int
    seeds: int
    length: timedelta
    seed: int = 1

    @property
    def world(self) -> WorldSettings:
        return WorldSettings(
            seed=self.seed,
            accounts=self.accounts,
            start=START,
            mixed=True,
            spread=PUBLISHED_SPREAD,
            likes_per_post=0.0,
            history=timedelta(days=10),
        )


def run_order(order: Order, folder: Path, say: Say = lambda text: None) -> dict[str, Any]:
    """The figures of one order; the description lies in the folder."""
    figures: dict[str, Any] = run_virtual(lambda clock: _Run(order, folder, clock, say).run(), start=START)
    return figures


class _Run:
    def __init__(self, order: Order, folder: Path, clock: VirtualClock, say: Say) -> None:
        self._order = order
        self._folder = folder
        self._clock = clock
        self._say = say
        self._laboratory = Laboratory(Setup(dialect="twitter_v1", world=order.world), clock)
        self._course: list[Course] = []
        self._seeds = self._drawn()

    async def run(self) -> dict[str, Any]:
        watch = self._clock.stopwatch()
        seeds = [self._laboratory.service.dialect.account_key(account) for account in self._seeds]
        async with self._laboratory.crawl(self._plan(seeds)) as crawl:
            telling = asyncio.create_task(self._tell(crawl))
            await self._laboratory.run(crawl)
            telling.cancel()
            await self._look(crawl)
            figures = await figures_of(crawl.database, self._laboratory, self._order.length, len(seeds))
        course = [structs.asdict(each) for each in self._course]
        refused = self._laboratory.service.limiter.refused
        return {**figures, "course": course, "added_in_24_hours": self._added(), "refused": refused,
                "seconds": round(self._clock.stopwatch() - watch)}  # fmt: skip

    def _added(self) -> int:
        """True members beside the seeds after a day, or at the end where that comes first."""
        return next((each for each in self._course if each.hours >= 24), self._course[-1]).added

    def _drawn(self) -> list[int]:
        world = self._laboratory.service.world
        now = to_ms(START)
        people = world.people
        members = [int(each) for each in np.flatnonzero(people.community == HOME) if world.is_open(int(each), now)]
        return [int(each) for each in np.random.default_rng(self._order.seed).permutation(members)[: self._order.seeds]]

    def _plan(self, seeds: list[str]) -> CrawlPlan:
        order = self._order
        file = self._folder / f"{order.name}.toml"
        file.write_text(_description(order.name), encoding="utf-8")
        minutes = round(order.length / timedelta(minutes=1))
        more = f'stop.duration = "{minutes}m"\ncommunity.file = "{file}"\n'
        plan = self._laboratory.plan(FLOWS[order.name], seeds, more)
        limits = budget(round(order.accounts * _MEMBERS), _PLENTY).limits
        return structs.replace(plan, services=(structs.replace(plan.services[0], limits=limits),))

    async def _tell(self, crawl: Crawl) -> None:
        """Looks every day, and more often on the first one."""
        for hours in (1, 3, 6, 12, *range(24, 24 * 400, 24)):
            await self._clock.sleep_until(START + timedelta(hours=hours))
            course = await self._look(crawl)
            told = f"{course.added:,} members added, {course.others:,} wrongly, {course.calls:,} calls"
            self._say(f"  {self._order.name}: after {hours} h {told}")

    async def _look(self, crawl: Crawl) -> Course:
        hours = round((self._clock.now() - START) / timedelta(hours=1), 1)
        course = await read_course(crawl.database, self._laboratory, hours, self._seeds)
        self._course.append(course)
        return course


def _description(name: str) -> str:
    """Portugal; for TwitterEcho's order with its rule, and without neighbours."""
    text = description("PT")
    return text if name == "ours" else f'rule = "echo"\n{text}'.replace("on = true", "on = false")
