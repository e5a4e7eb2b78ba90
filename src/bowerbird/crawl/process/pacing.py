"""Holds the calls of a running crawl back so that they last for its time, and turns it to timelines at its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.work.lanes import ServedLanes
from bowerbird.crawl.work.rhythm import EVEN, rhythm_of
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.spread import Spread, is_leaning
from bowerbird.ports import Clock, Part

_LEARN_EVERY = timedelta(hours=1)


class Pacing:
    """Says when the next call may be made by the crawl's own spread, whatever the limits would allow."""

    def __init__(self, spread: Spread, lanes: ServedLanes, scheduler: Scheduler, tally: Tally, clock: Clock) -> None:
        self._spread = spread
        self._lanes = lanes.asked
        self._scheduler = scheduler
        self._tally = tally
        self._clock = clock
        self._leaning = 1.0
        self._rhythm = EVEN

    def held_until(self, in_flight: int) -> datetime | None:
        """When the next call may be made, with so many in flight; None: now."""
        now, began = self._clock.now(), self._tally.started_at - self._tally.ran_before
        self._lean(self._spread.leaning(now - began))
        opens = self._spread.opens(self._tally.size().calls + in_flight, began, self._rhythm)
        return opens if opens > now else None

    def part(self, posts_by_hour: Callable[[], Awaitable[Sequence[int]]]) -> Part:
        """What goes on learning, as long as the crawl runs, at which hours people write."""
        return Part(name="rhythm", run=partial(self._learn, posts_by_hour))

    async def _learn(self, posts_by_hour: Callable[[], Awaitable[Sequence[int]]]) -> None:
        while True:
            self._rhythm = rhythm_of(await posts_by_hour())
            await self._clock.sleep_until(self._clock.now() + _LEARN_EVERY)

    def _lean(self, leaning: float) -> None:
        if leaning == self._leaning:
            return
        self._leaning = leaning
        for lane in filter(is_leaning, self._lanes.values()):
            self._scheduler.weigh(lane.lane, lane.weight * leaning)
