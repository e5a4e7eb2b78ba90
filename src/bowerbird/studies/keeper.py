"""Update statistics and run word studies in the background of a dashboard."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from bowerbird.errors import Busy, DiskFull, Fenced
from bowerbird.model import Backoff
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.modules.statistics.work import is_wanted
from bowerbird.ports import Clock, Database
from bowerbird.studies.word_studies import StudyRunner

EVERY = timedelta(minutes=5)
"""Maximum time between two updates of the statistics without a request."""
_PART = 50
"""Small stores are updated more often, as long as that takes at most one part in fifty of the time."""
_LOOK = timedelta(seconds=5)
"""Time between two checks for requests, also from other processes."""
RETRIES = Backoff(first=_LOOK, most=EVERY)
"""Backoff after errors."""
_LATER = timedelta(seconds=30)
"""Minimum time between two updates, and the delay if another process updates."""
_SELDOM = 10
"""Minimum time between two updates, as a multiple of the time that the last one took."""
_AT_ONCE = 100_000
"""Posts and accounts per update, after which the statistics are shown."""
_log = logging.getLogger(__name__)


class Keeper:
    """Updates the statistics every few minutes, or at once on request, and runs waiting word studies."""

    def __init__(self, database: Database, clock: Clock, *, rest: float = 1.0) -> None:
        self._database = database
        self._clock = clock
        self._preparing = Preparing(database, clock, rest=rest)
        self._runner = StudyRunner(database, clock, rest=rest)
        self._stirred = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the background task if it is not running."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self.run(), name="statistics")

    def stir(self) -> None:
        """Check for requests now, not at the next interval."""
        self._stirred.set()

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def run(self) -> None:
        """Run until cancelled. After errors, statistics and studies are retried independently with backoff."""
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
                    while await self._runner.run_next() is not None:
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
        """Update the statistics and return the time until the next update; zero until a new store is counted completely."""
        watch = self._clock.stopwatch()
        done = await self._preparing.run(_AT_ONCE)
        took = timedelta(seconds=self._clock.stopwatch() - watch)
        return _LATER if done.is_taken else rest_after(took) if done.is_done else timedelta(0)


def _say(what: str, error: Exception) -> None:
    level = logging.INFO if isinstance(error, Busy | DiskFull | Fenced) else logging.WARNING
    _log.log(level, "%s wait: %s: %s", what, type(error).__name__, error)


def rest_after(took: timedelta) -> timedelta:
    """Return the time until the next update, which is longer if the last one took longer."""
    return max(min(EVERY, max(_LATER, took * _PART)), took * _SELDOM)
