"""A count that takes long is made once for all who look, kept with its age, and made anew when somebody wants it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.errors import Busy
from bowerbird.web.pages.community.kept import Kept

START = datetime(2026, 3, 1, tzinfo=UTC)


class Slow:
    """Takes ten seconds, and says how often it was asked."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.asked = 0
        self.fails = False

    async def __call__(self, name: str) -> int:
        self.asked += 1
        await self.clock.sleep_until(self.clock.now() + timedelta(seconds=10))
        if self.fails:
            raise Busy("given up")
        return self.asked


def test_nobody_waits_long_and_everybody_sees_the_same_count() -> None:
    async def main(clock: VirtualClock) -> None:
        slow = Slow(clock)
        kept = Kept(clock, slow)
        assert await asyncio.gather(kept.read("a"), kept.read("a")) == [None, None]
        assert clock.now() - START <= timedelta(seconds=3)
        await clock.sleep_until(START + timedelta(seconds=20))
        found = await kept.read("a")
        assert found is not None
        assert (found.value, slow.asked) == (1, 1)
        await clock.sleep_until(START + timedelta(minutes=10))
        old = await kept.read("a")
        assert old == found
        await clock.sleep_until(START + timedelta(minutes=11))
        newer = await kept.read("a")
        assert newer is not None
        assert newer.value == 2

    run_virtual(main, start=START)


def test_a_count_that_fails_says_why_and_an_older_one_stays() -> None:
    async def main(clock: VirtualClock) -> None:
        slow = Slow(clock)
        kept = Kept(clock, slow)
        slow.fails = True
        await kept.read("a")
        await clock.sleep_until(START + timedelta(seconds=20))
        failed = await kept.read("a")
        assert failed is not None
        assert failed.value is None
        assert failed.problem is not None
        assert failed.problem.problem == "given up"
        slow.fails = False
        await kept.read("a", is_new=True)
        await clock.sleep_until(START + timedelta(seconds=60))
        found = await kept.read("a")
        assert found is not None
        assert found.value == 2
        slow.fails = True
        await kept.read("a", is_new=True)
        await clock.sleep_until(START + timedelta(seconds=90))
        assert await kept.read("a") == found

    run_virtual(main, start=START)
