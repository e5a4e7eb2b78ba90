"""The loop that decides frames: one worker of the crawl decides each, whoever is there at its end."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.patience import patiently
from bowerbird.errors import Fenced
from bowerbird.event import rows
from bowerbird.event.deciding import HOLD, Decider
from bowerbird.event.grid import Grid
from bowerbird.event.steering import Steering
from bowerbird.model import Claim
from bowerbird.ports import Part

_SOON = timedelta(seconds=1)
GLANCE = timedelta(seconds=20)
"""How often a worker looks whether somebody changed the keywords: another worker, or the user."""


class Adapter:
    """Keeps the keywords of one crawl up to date for as long as it runs."""

    def __init__(self, decider: Decider, steering: Steering, grid: Grid, keeping: Keeping) -> None:
        self._decider = decider
        self._steering = steering
        self._grid = grid
        self._clock = keeping.clock
        self._claims = keeping.claims
        self._tally = keeping.tally
        self._database = keeping.database
        self._crawl = steering.crawl
        self._ending = asyncio.Event()
        self._alive_at = keeping.clock.now()
        self._is_paused = False
        self._seen = 0
        """The version of the keywords that streams and searches follow."""

    def part(self) -> Part:
        return Part(name="keywords", run=self.run, end=self._ending.set, pause=self._pause, is_alive_since=lambda: self._alive_at)

    def _pause(self, is_paused: bool) -> None:
        """Frames of a pause are missed ones: nobody listens."""
        self._is_paused = is_paused

    async def run(self) -> None:
        while not self._ending.is_set():
            due = await patiently(self._look, self._clock, self._tally.blocked)
            await self._clock.wait(self._ending, min(due, self._clock.now() + GLANCE))

    async def _look(self) -> datetime:
        """Decides what is due and follows what has changed; answers when the next frame is due."""
        now = self._alive_at = self._clock.now()
        progress = await self._watched(now)
        while not self._is_paused and self._grid.due(began := progress.decided + self._grid.frame) <= now:
            if not await self._decide(began, now):
                break
            progress = await self._watched(now)
        if progress.version != self._seen:
            await self._steering.catch_up(now)
            self._seen = progress.version
        # What another worker is deciding is looked at again soon.
        return max(self._grid.due(progress.decided + self._grid.frame), now + _SOON)

    async def _watched(self, now: datetime) -> rows.Progress:
        """How far the crawl has come, after a sign of life that it is seen to."""
        async with self._database.transaction() as tx:
            progress = await rows.read_progress(tx, self._crawl)
            if self._is_paused:
                return progress
            await rows.watch(tx, self._crawl, self._grid.missed(progress.watched_at, now), now)
            return await rows.read_progress(tx, self._crawl)

    async def _decide(self, began: datetime, now: datetime) -> bool:
        """Decides a frame; False when somebody else does."""
        claim = await self._taken(began, now)
        if claim is None:
            return False
        try:
            while not await self._decider.decide(began, self._claims, claim, self._clock.now()):
                pass
            async with self._database.transaction() as tx:
                await self._claims.release(tx, claim)
        except Fenced:
            # Another worker took us for dead and decides it now.
            return False
        return True

    async def _taken(self, began: datetime, now: datetime) -> Claim | None:
        async with self._database.transaction() as tx:
            claim = await self._claims.take(tx, f"keywords {self._crawl}", now + HOLD, now)
            if isinstance(claim, datetime):
                return None
            # While we waited for the claim its last owner may have decided it.
            if (await rows.read_progress(tx, self._crawl)).decided >= began:
                await self._claims.release(tx, claim)
                return None
        return claim
