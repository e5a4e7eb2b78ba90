"""Waits grow to a bound, the same values give the same wait, and what failed together comes back one after the other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.restarts import STEADY, keep_running
from bowerbird.model import Backoff

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def test_waits_double_up_to_the_longest() -> None:
    waits = Backoff(SECOND, MINUTE)
    assert [waits.wait(n) / SECOND for n in (1, 2, 3, 6, 7, 8, 10_000)] == [1, 2, 4, 32, 60, 60, 60]


def test_waits_that_are_linear_grow_by_the_first() -> None:
    waits = Backoff(SECOND, MINUTE, is_linear=True)
    assert [waits.wait(n) / SECOND for n in (1, 2, 3, 59, 60, 61)] == [1, 2, 3, 59, 60, 60]


@pytest.mark.parametrize("is_linear", [False, True])
def test_before_the_first_failure_nothing_is_waited_longer_than_the_first_wait(is_linear: bool) -> None:
    assert Backoff(SECOND, MINUTE, is_linear=is_linear).wait(0) <= SECOND


def test_jitter_only_ever_makes_a_wait_longer_and_by_no_more_than_its_share() -> None:
    plain, spread = Backoff(SECOND, MINUTE), Backoff(SECOND, MINUTE, jitter=0.25)
    for failures in range(1, 20):
        bare = plain.wait(failures)
        assert all(bare <= spread.wait(failures, f"file {n}") < bare * 1.25 for n in range(100))
        assert spread.wait(failures) == bare


def test_the_same_seed_gives_the_same_wait_and_others_are_spread_out() -> None:
    spread = Backoff(SECOND, MINUTE, jitter=0.5)
    waits = [spread.wait(3, f"file {n}") / SECOND for n in range(200)]
    assert waits == [spread.wait(3, f"file {n}") / SECOND for n in range(200)]
    tenths = [sum(4 + 0.2 * n <= wait < 4 + 0.2 * (n + 1) for wait in waits) for n in range(10)]
    assert sum(tenths) == 200
    assert min(tenths) > 5


def test_a_seed_may_be_anything_that_a_server_sent() -> None:
    assert Backoff(SECOND, MINUTE, jitter=0.5).wait(1, "\ud800\0") >= SECOND


def test_what_breaks_begins_again_until_it_ends_by_itself() -> None:
    heard: list[tuple[str, float]] = []

    async def main(clock: VirtualClock) -> tuple[str, float]:
        began, tries = clock.now(), iter(["one", "two", "three"])

        async def run() -> str:
            name = next(tries)
            if name != "three":
                raise ValueError(name)
            return name

        async def crashed(error: Exception, wait: timedelta) -> bool:
            heard.append((str(error), wait / SECOND))
            return True

        return await keep_running(run, clock, crashed), round((clock.now() - began) / SECOND, 3)

    assert run_virtual(main) == ("three", 3)
    assert heard == [("one", 1), ("two", 2)]


def test_what_ran_well_for_a_while_waits_shortly_again_and_whoever_hears_of_a_crash_may_end_it() -> None:
    waits: list[float] = []

    async def main(clock: VirtualClock) -> object:
        async def run() -> None:
            if len(waits) == 3:
                await clock.sleep_until(clock.now() + STEADY)
            raise ValueError("broken")

        async def crashed(error: Exception, wait: timedelta) -> bool:
            waits.append(wait / SECOND)
            return len(waits) < 5

        return await keep_running(run, clock, crashed)

    with pytest.raises(ValueError, match="broken"):
        run_virtual(main)
    assert waits == [1, 2, 4, 1, 2]
