"""Ends a crawl when what it has collected is good enough: a question that costs too much to be asked after every call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from bowerbird.crawl.process.endings import GOOD_ENOUGH, Ending
from bowerbird.crawl.process.tally import Tally
from bowerbird.ports import Clock, Part

_EVERY = timedelta(minutes=1)
_GROWTH = 1.1
"""It is asked again when a tenth more calls were made: all the asking together then costs ten times the last one."""
_FIRST = 50


class Judging:
    """Asks now and then whether it is enough, and ends the loop of calls if so."""

    def __init__(self, enough: Callable[[], Awaitable[str]], tally: Tally, clock: Clock, end: Callable[[Ending], None]) -> None:
        """`enough` gives the reason to end, or nothing."""
        self._enough = enough
        self._tally = tally
        self._clock = clock
        self._end = end

    async def run(self) -> None:
        judged_at = _FIRST / _GROWTH
        while True:
            await self._clock.sleep_until(self._clock.now() + _EVERY)
            calls = self._tally.size().calls
            if calls < judged_at * _GROWTH:
                continue
            judged_at = calls
            if reason := await self._enough():
                self._end(Ending.finished(GOOD_ENOUGH, reason))
                return


def sample_part(enough: Callable[[], Awaitable[str]], tally: Tally, clock: Clock, end: Callable[[Ending], None]) -> Part:
    """What ends a crawl when its sample is good enough, as a part of the process."""
    return Part(name="sample", run=Judging(enough, tally, clock, end).run)
