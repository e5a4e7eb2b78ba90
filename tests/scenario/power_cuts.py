"""Crawls whose process is gone from one moment to the next, in virtual time."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from bowerbird.app import open_crawl
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.ports import Clock


class PowerCut(BaseException):
    """The process is gone; nothing in it runs any further."""


class MortalClock:
    """A clock whose process dies at a time, wherever it is then."""

    def __init__(self, clock: Clock, death: datetime) -> None:
        self._clock = clock
        self._death = death

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def now(self) -> datetime:
        if self._clock.now() >= self._death:
            raise PowerCut
        return self._clock.now()


async def run_until_killed(laboratory: Laboratory, plan: CrawlPlan, death: datetime, glance: timedelta | None = None) -> None:
    """`glance`: how often a loop looks up that has nothing to ask, and would otherwise sleep past its death."""
    outside = structs.replace(laboratory.outside(), clock=MortalClock(laboratory.clock, death))
    outside = outside if glance is None else structs.replace(outside, glance=glance)
    others = asyncio.all_tasks()
    try:
        async with open_crawl(plan, outside) as crawl:
            await laboratory.run(crawl)
    except PowerCut:
        return
    finally:
        left = asyncio.all_tasks() - others
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
