"""Virtual time jumps, real time does not."""

from __future__ import annotations

import asyncio
import gc
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.clock import VIRTUAL_START, RealClock, VirtualClock, from_micros, run_virtual, to_micros


def test_a_month_of_waiting_takes_no_time() -> None:
    async def main(clock: VirtualClock) -> timedelta:
        await clock.sleep_until(clock.now() + timedelta(days=30))
        return clock.now() - VIRTUAL_START

    watch = time.perf_counter()
    assert timedelta(days=30) <= run_virtual(main) < timedelta(days=30, milliseconds=1)
    assert time.perf_counter() - watch < 5


def test_garbage_is_looked_for_less_often_in_virtual_time_and_as_before_after_it() -> None:
    async def main(clock: VirtualClock) -> int:
        if clock.now() > VIRTUAL_START:
            raise ValueError
        return gc.get_threshold()[0]

    usual = gc.get_threshold()
    assert run_virtual(main) > usual[0]
    with pytest.raises(ValueError):
        run_virtual(main, start=VIRTUAL_START + timedelta(days=1))
    assert gc.get_threshold() == usual


def test_waiters_wake_in_the_order_of_their_deadlines() -> None:
    async def main(clock: VirtualClock) -> list[int]:
        woken: list[int] = []

        async def wait(minutes: int) -> None:
            await clock.sleep_until(VIRTUAL_START + timedelta(minutes=minutes))
            woken.append(minutes)

        await asyncio.gather(*(wait(minutes) for minutes in (30, 10, 20)))
        return woken

    assert run_virtual(main) == [10, 20, 30]


def test_waiting_for_an_event_ends_with_the_event_or_the_time() -> None:
    async def main(clock: VirtualClock) -> tuple[timedelta, timedelta]:
        event = asyncio.Event()
        await clock.wait(event, clock.now() + timedelta(hours=1))
        first = clock.now() - VIRTUAL_START
        event.set()
        await clock.wait(event, clock.now() + timedelta(hours=1))
        return first, clock.now() - VIRTUAL_START

    first, second = run_virtual(main)
    assert first == second
    assert first >= timedelta(hours=1)


def test_virtual_time_stands_still_while_something_outside_works() -> None:
    async def main(clock: VirtualClock) -> timedelta:
        async def outside() -> timedelta:
            with clock.outside():
                await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.05)
                return clock.now() - VIRTUAL_START

        sleeper = asyncio.create_task(clock.sleep_until(clock.now() + timedelta(days=1)))
        passed = await outside()
        await sleeper
        return passed

    assert run_virtual(main) < timedelta(seconds=1)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001  zoned below
def test_times_go_through_the_database_unchanged(when: datetime) -> None:
    zoned = when.replace(tzinfo=UTC)
    assert from_micros(to_micros(zoned)) == zoned


def test_the_real_clock_is_near_the_system_clock_and_never_goes_back() -> None:
    clock = RealClock()
    times = [clock.now() for _ in range(1000)]
    assert times == sorted(times)
    assert abs(clock.drift()) < timedelta(seconds=1)


class Machine:
    """What a real clock reads: a system's clock that is wrong, and a steady one that drifts or stands still."""

    def __init__(self, ahead: timedelta = timedelta(0), rate: float = 1.0) -> None:
        self.truth = VIRTUAL_START
        self.ahead = ahead
        self.steady = 0.0
        self._rate = rate
        self.clock = RealClock(lambda: self.truth + self.ahead, lambda: self.steady)

    def passes(self, time: timedelta, *, is_paused: bool = False) -> None:
        self.truth += time
        self.steady += 0 if is_paused else time.total_seconds() * self._rate

    def hears(self, told: datetime, latency: timedelta = timedelta(0)) -> None:
        sent = self.clock.now()
        self.passes(latency)
        self.clock.heed(told, sent, self.clock.now())

    @property
    def error(self) -> timedelta:
        return self.clock.now() - self.truth


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("ahead", [30 * SECOND, -30 * SECOND])
def test_a_machine_with_a_wrong_clock_goes_by_the_time_that_it_is_told(ahead: timedelta) -> None:
    machine = Machine(ahead)
    assert machine.error == ahead
    machine.hears(machine.truth)
    assert (machine.error, machine.clock.correction()) == (timedelta(0), -ahead)
    machine.passes(timedelta(hours=1))
    assert (machine.error, machine.clock.drift()) == (timedelta(0), timedelta(0))


def test_a_slow_answer_moves_the_clock_no_further_than_it_must() -> None:
    machine = Machine(2 * SECOND)
    machine.hears(machine.truth + SECOND, 3 * SECOND)
    assert machine.error == SECOND


def test_a_clock_that_drifts_is_kept_right() -> None:
    machine = Machine(30 * SECOND, rate=1.001)
    machine.hears(machine.truth)
    for _ in range(240):
        machine.passes(30 * SECOND)
        assert abs(machine.error) < 0.05 * SECOND
        machine.hears(machine.truth)


def test_a_database_whose_clock_is_set_takes_no_window_away() -> None:
    machine = Machine(30 * SECOND)
    machine.hears(machine.truth)
    for _ in range(3):
        machine.passes(30 * SECOND)
        machine.hears(machine.truth + timedelta(hours=1))
        assert abs(machine.error) < SECOND


@pytest.mark.parametrize("ahead", [timedelta(0), 30 * SECOND])
def test_a_machine_that_was_paused_is_right_again_at_once_every_time(ahead: timedelta) -> None:
    machine = Machine(ahead)
    machine.hears(machine.truth)
    for _ in range(3):
        machine.passes(timedelta(hours=8), is_paused=True)
        assert machine.error == -timedelta(hours=8)
        machine.hears(machine.truth)
        assert machine.error == timedelta(0)
        # Nobody's clock was wrong or set, and nobody is told so.
        assert (machine.clock.correction(), machine.clock.drift()) == (-ahead, timedelta(0))
        machine.passes(30 * SECOND)
        machine.hears(machine.truth)


def test_a_paused_machine_whose_own_clock_is_set_right_late_is_right_from_then_on() -> None:
    """A virtual machine's clock stands still with it, until somebody sets it."""
    machine = Machine()
    machine.hears(machine.truth)
    machine.passes(timedelta(hours=8), is_paused=True)
    machine.ahead = -timedelta(hours=8)
    for _ in range(20):
        machine.passes(30 * SECOND)
        machine.hears(machine.truth)
    machine.ahead = timedelta(0)
    machine.hears(machine.truth)
    assert machine.error == timedelta(0)


def test_a_machine_whose_clock_was_set_is_right_again_after_a_pause_as_well() -> None:
    machine = Machine()
    machine.hears(machine.truth)
    machine.ahead = timedelta(hours=1)
    machine.passes(30 * SECOND)
    machine.hears(machine.truth)
    machine.passes(timedelta(hours=8), is_paused=True)
    machine.hears(machine.truth)
    assert machine.error == timedelta(0)
