"""Keeps statistics and studies up to date beside a dashboard."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from bowerbird.errors import Busy, DiskFull, Fenced
from bowerbird.model import Backoff
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.modules.statistics.work import is_wanted
from bowerbird.ports import Clock, Database
from bowerbird.studies.words.looker import Looker

EVERY = timedelta(minutes=5)
"""How often new numbers are made of most stores, while nobody asks for them."""
_PART = 50
"""A small store, which changes quickly, is counted more often, as long as that takes one part in so many of the time."""
_LOOK = timedelta(seconds=5)
"""How often it is looked whether somebody asked, also from another process."""
RETRIES = Backoff(first=_LOOK, most=EVERY)
"""Of numbers that could not be made."""
_LATER = timedelta(seconds=30)
"""How soon numbers are made at most, and when again where another process makes them."""
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
        """For as long as the dashboard does. What goes wrong is tried again, each time later; studies do not wait for it."""
        due, failures, studies_due, studies_failed = self._clock.now(), 0, self._clock.now(), 0
        while True:
            try:
                if self._clock.now() >= due or (not failures and await self._is_wanted()):
                    due = self._clock.now() + await self._prepare()
                    failures = 0
            except Exception as error:
                failures += 1
                due = self._clock.now() + RETRIES.wait(failures)
                _say("statistics", error)
            try:
                if self._clock.now() >= studies_due:
                    while await self._looker.run_next() is not None:
                        pass
                    studies_failed = 0
            except Exception as error:
                studies_failed += 1
                studies_due = self._clock.now() + RETRIES.wait(studies_failed)
                _say("studies of words", error)
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


def _say(what: str, error: Exception) -> None:
    level = logging.INFO if isinstance(error, Busy | DiskFull | Fenced) else logging.WARNING
    _log.log(level, "%s wait: %s: %s", what, type(error).__name__, error)


def rest_after(took: timedelta) -> timedelta:
    """How long numbers stand that took so long to make: longer for those that cost more."""
    return max(min(EVERY, max(_LATER, took * _PART)), took * _SELDOM)
