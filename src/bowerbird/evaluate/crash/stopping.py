"""Workers that are stopped until the others take them for dead, wake up, and are killed later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.crawl.life.registry import SILENT
from bowerbird.db import open_database
from bowerbird.db.tables import is_store
from bowerbird.errors import Busy
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.evaluate.crash.rounds import Moments, Round
from bowerbird.evaluate.crash.tally import Tally
from bowerbird.ports import Clock, Database

_SHORTLY = timedelta(milliseconds=50)
_SOON = timedelta(minutes=3)
"""Within this time a process on a busy machine looks at its database, and a server ends the session of one that sleeps in it."""
# Of another machine, and silent: nobody can look whether its process lives.
_AGE = "update workers set host = 'elsewhere', seen_at = ? where pid = ? and ended_at is null"
_LIVING = "select count(*) as living from workers where pid = ? and ended_at is null"


class Stopping:
    """Stops one of two workers of a crawl beyond its death, lets it wake up, and kills both later."""

    def __init__(self, round_: Round, store: str, moments: Moments, clock: Clock) -> None:
        self._round = round_
        self._store = store
        self._moments = moments
        self._clock = clock

    async def run(self, stops: int, tally: Tally) -> None:
        """Returns early when the crawl came to its end before."""
        for _ in range(stops):
            sleeper = await CrawlProcess.start(self._round.file)
            await self._round.first_call(sleeper, _SOON)
            if await sleeper.ends_within(self._moments.of_work()):
                await self._round.finish(tally, sleeper)
                return
            await self._put_to_sleep(sleeper)
            other = await CrawlProcess.start(self._round.file, ("--join",))
            has_died = await self._until(sleeper, other, is_living=False)
            sleeper.wake()
            has_woken = has_died and await self._until(sleeper, other, is_living=True)
            tally.stops += 1
            if not has_woken and other.code is None and sleeper.code is None:
                tally.wedged += 1
                tally.note("wedged", "a stopped worker was not taken for dead, or did not enrol anew")
            await sleeper.ends_within(self._moments.of_work())
            await sleeper.kill()
            await other.ends_within(self._moments.of_work())
            await other.kill()

    async def _put_to_sleep(self, process: CrawlProcess) -> None:
        """Stops it between two transactions: one that sleeps with the database's lock is another story."""
        while process.code is None:
            process.stop()
            if await self._has_aged(process):
                return
            process.wake()
            await self._clock.sleep_until(self._clock.now() + _SHORTLY)

    async def _has_aged(self, process: CrawlProcess) -> bool:
        """Whether its row could be made to look long silent; a process that is still setting up has none."""
        try:
            async with asyncio.timeout(1), self._opened() as database:
                if not await is_store(database):
                    return False
                async with database.transaction() as tx:
                    return bool(await tx.execute(_AGE, to_micros(self._clock.now() - 2 * SILENT), process.pid))
        except (TimeoutError, Busy):
            return False

    async def _until(self, sleeper: CrawlProcess, other: CrawlProcess, *, is_living: bool) -> bool:
        """Waits until the sleeper stands in the database as living, or as ended."""
        give_up = self._clock.now() + _SOON
        while self._clock.now() < give_up and other.code is None and sleeper.code is None:
            async with self._opened() as database, database.reading() as tx:
                row = await tx.fetch_one(_LIVING, sleeper.pid)
            if row is not None and bool(row["living"]) is is_living:
                return True
            if not is_living:
                # A sign of life that was under way when it was stopped may have come after all.
                await self._has_aged(sleeper)
            await self._clock.sleep_until(self._clock.now() + _SHORTLY)
        return False

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Database]:
        database = await open_database(self._store, self._clock)
        try:
            yield database
        finally:
            await database.close()
