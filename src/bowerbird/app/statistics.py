"""Keeps statistics and studies up to date beside a dashboard."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from bowerbird.app.words.looker import Looker
from bowerbird.errors import Busy, DiskFull, Fenced
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.modules.statistics.work import is_wanted
from bowerbird.ports import Clock, Database

EVERY = timedelta(minutes=5)
"""How often new numbers are made of most stores, while nobody asks for them."""
_PART = 50
"""A small store, which changes quickly, is counted more often, as long as that takes one part in so many of the time."""
_LOOK = timedelta(seconds=5)
"""How often it is looked whether somebody asked, also from another process."""
_LATER = timedelta(seconds=30)
_SELDOM = 10
"""How many times as long as the last numbers took passes at least before the next are made."""
_AT_ONCE = 100_000
"""Posts and accounts that are counted before what is counted by then is shown."""
_log = logging.getLogger(__name__)


class Keeper:
    """Counts what is new every few minutes, and at once when somebody asks; looks through posts for studies that wait."""

    def __init__(self, database: Database, clock: Clock, *, rest: float = 1.0) -> None:
        self._database = database
        self._clock = clock
        self._preparing = Preparing(database, clock, rest=rest)
        self._looker = Looker(database, clock, rest=rest)
        self._stirred = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begins, if it does not run already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self.run(), name="statistics")

    def stir(self) -> None:
        """Says that somebody has asked for something; whoever counts, here or in another process, begins within seconds."""
        self._stirred.set()

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def run(self) -> None:
        """For as long as the dashboard does. What goes wrong is tried again later."""
        due = self._clock.now()
        while True:
            try:
                if self._clock.now() >= due or await self._is_wanted():
                    due = self._clock.now() + await self._prepare()
                while await self._looker.run_next() is not None:
                    pass
            except (Busy, DiskFull, Fenced) as error:
                _log.info("statistics wait: %s", error)
            except Exception as error:
                _log.warning("statistics could not be made: %s: %s", type(error).__name__, error)
                due = self._clock.now() + _LATER
            self._stirred.clear()
            await self._clock.wait(self._stirred, self._clock.now() + _LOOK)

    async def _is_wanted(self) -> bool:
        async with self._database.reading() as tx:
            return await is_wanted(tx)

    async def _prepare(self) -> timedelta:
        """When to do it again: a store that is counted for the first time goes on at once."""
        watch = self._clock.stopwatch()
        done = await self._preparing.run(_AT_ONCE)
        took = timedelta(seconds=self._clock.stopwatch() - watch)
        return _LATER if done.is_taken else rest_after(took) if done.is_done else timedelta(0)


def rest_after(took: timedelta) -> timedelta:
    """How long numbers stand that took so long to make: longer for those that cost more."""
    return max(min(EVERY, max(_LATER, took * _PART)), took * _SELDOM)
