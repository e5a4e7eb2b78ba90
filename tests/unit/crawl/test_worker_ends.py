"""When the loop of calls takes a crawl for ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import NOTHING_LEFT
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.worker import Worker
from bowerbird.errors import Fenced
from bowerbird.flows.flow import Stop
from bowerbird.model import Due, Later, Leased, Nothing

START = datetime(2026, 1, 5, tzinfo=UTC)


class Recovered:
    """A work source in which what a dead worker held becomes ready between two questions; implements what the loop asks."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.ready = self.leased = 0
        self.woken = 0

    async def lease(self, offer: object) -> Leased | Later | Nothing:
        if not self.ready:
            return Nothing()
        self.ready, self.leased = self.ready - 1, self.leased + 1
        return Later(self._clock.now())

    async def wake(self) -> Due:
        self.woken += 1
        # The watch over the crawl comes in between: nothing is leased any more, and something is ready.
        self.ready += self.woken == 1
        return Due()


class Interrupted(Recovered):
    """The same, and once something else comes between the question that found nothing and the next one."""

    def __init__(self, clock: VirtualClock, between: Callable[[], Leased | Later | Nothing]) -> None:
        super().__init__(clock)
        self._between: Callable[[], Leased | Later | Nothing] | None = between

    async def lease(self, offer: object) -> Leased | Later | Nothing:
        if self.woken == 1 and self._between is not None:
            between, self._between = self._between, None
            return between()
        return await super().lease(offer)

    async def wake(self) -> Due:
        self.woken += 1
        self.ready += self.woken == 2
        return Due()


def fenced() -> Nothing:
    raise Fenced("taken for dead")


class NoCaller:
    def offer(self, room: int) -> object:
        return room


def test_what_becomes_ready_while_a_crawl_seems_to_have_ended_is_asked() -> None:
    async def main(clock: VirtualClock) -> None:
        source: Any = Recovered(clock)
        caller: Any = NoCaller()
        tally = Tally(clock.now())
        ending = await Worker(source, caller, clock, tally).run(1, StopRules(Stop(when_empty=True), tally, clock))
        assert ending.reason.code == NOTHING_LEFT
        assert (source.leased, source.ready) == (1, 0)

    run_virtual(main, start=START)


@pytest.mark.parametrize("is_fenced", [True, False])
def test_what_was_so_before_an_interruption_says_nothing_of_the_end(is_fenced: bool) -> None:
    async def main(clock: VirtualClock) -> None:
        source: Any = Interrupted(clock, fenced if is_fenced else lambda: Later(clock.now()))
        caller: Any = NoCaller()
        tally = Tally(clock.now())
        ending = await Worker(source, caller, clock, tally).run(1, StopRules(Stop(when_empty=True), tally, clock))
        assert ending.reason.code == NOTHING_LEFT
        assert (source.leased, source.ready) == (1, 0)

    run_virtual(main, start=START)


def test_what_was_so_before_a_pause_says_nothing_of_the_end() -> None:
    async def main(clock: VirtualClock) -> None:
        source: Any = Interrupted(clock, Nothing)
        caller: Any = NoCaller()
        tally = Tally(clock.now())
        worker = Worker(source, caller, clock, tally)
        wake = source.wake

        async def pausing() -> Due:
            due = await wake()
            if source.woken == 1:
                worker.pause(True)
                asyncio.get_running_loop().call_later(3600, worker.pause, False)
            return due

        source.wake = pausing
        ending = await worker.run(1, StopRules(Stop(when_empty=True), tally, clock))
        assert ending.reason.code == NOTHING_LEFT
        assert (source.leased, source.ready) == (1, 0)

    run_virtual(main, start=START)
