"""The only reader of time. `run_virtual` runs a coroutine in a loop whose time jumps instead of passing."""

from __future__ import annotations

import asyncio
import gc
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from bowerbird.model import EPOCH, from_micros, to_micros


def _steady_seconds() -> float:
    # CLOCK_BOOTTIME goes on while a laptop sleeps; the monotonic clock would stand still and miss window resets.
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def _system_time() -> datetime:
    return datetime.now(UTC)


_FOLLOWED = 0.005
"""How fast a clock may drift from the database's: one that seems to run more wrong than this was set."""
_CONFIRMED = timedelta(seconds=2)


class _Waiting:
    """Waiting that works in both kinds of loop, since each loop keeps its own time."""

    def now(self) -> datetime:
        raise NotImplementedError

    async def sleep_until(self, when: datetime) -> None:
        await asyncio.sleep(self._delay(when))

    async def wait(self, event: asyncio.Event, until: datetime) -> None:
        try:
            async with asyncio.timeout(self._delay(until)):
                await event.wait()
        except TimeoutError:
            return

    def _delay(self, until: datetime) -> float:
        # Half a microsecond more: datetime rounds to whole ones and must not land just before the deadline.
        left = (until - self.now()).total_seconds()
        return left + 5e-7 if left > 0 else 0.0


class RealClock(_Waiting):
    """Wall time that never jumps: anchored to the system clock once, then carried by the steady one.

    Where several machines share a database they share its time: each is anchored to that one instead, and follows it as far as
    clocks drift. That the database's own clock is set does not move a window under our feet either.
    """

    is_virtual = False

    def __init__(
        self,
        system: Callable[[], datetime] = _system_time,
        steady: Callable[[], float] = _steady_seconds,
    ) -> None:
        self._system = system
        self._steady = steady
        self._anchor = system()
        self._began = steady()
        self._correction = timedelta(0)
        self._heeded_at: datetime | None = None
        self._apart = timedelta(0)
        """How far the system's clock was ahead of the one that we heed when ours last agreed with that."""

    def now(self) -> datetime:
        return self._uncorrected() + self._correction

    def _uncorrected(self) -> datetime:
        return self._anchor + timedelta(seconds=self._steady() - self._began)

    def drift(self) -> timedelta:
        return self._system() - self._uncorrected()

    def heed(self, told: datetime, sent: datetime, received: datetime) -> None:
        # As little as the words allow: it was said at some moment between.
        by = min(max(timedelta(0), told - received), told - sent)
        followed = self._followed(by, received)
        apart = self._system() - told
        if followed != by and abs(apart - self._apart) < _CONFIRMED:
            # The system's clock says the same as ever: ours stood still with its machine, and neither of the others is wrong.
            self._anchor += by
            followed = by
        else:
            self._correction += followed
        if followed == by:
            self._apart = apart
        self._heeded_at = received + followed

    def _followed(self, by: timedelta, received: datetime) -> timedelta:
        """As much of it as clocks drift; the first time all of it."""
        if self._heeded_at is None:
            return by
        most = max(timedelta(0), received - self._heeded_at) * _FOLLOWED
        return min(max(by, -most), most)

    def correction(self) -> timedelta:
        return self._correction

    def stopwatch(self) -> float:
        return time.perf_counter()

    @contextmanager
    def outside(self) -> Iterator[None]:
        yield


class _JumpingSelector(selectors.DefaultSelector):
    """Reports no events for a timeout and moves the loop's time on instead of waiting, unless real work is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0.0
        self.outside = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.outside:
            return super().select(None if timeout is None else min(timeout, 0.05))
        ready = super().select(0)
        if ready or timeout is None or timeout <= 0:
            # No deadline and nothing ready would be a deadlock in virtual time: only real I/O can end it.
            return ready if (ready or timeout is not None) else super().select(None)
        self.elapsed += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which waiting costs nothing."""

    def __init__(self) -> None:
        self.jumping = _JumpingSelector()
        super().__init__(self.jumping)

    def time(self) -> float:
        return self.jumping.elapsed


class VirtualClock(_Waiting):
    """Time of a `VirtualLoop`, counted from a chosen start."""

    is_virtual = True

    def __init__(self, loop: VirtualLoop, start: datetime) -> None:
        self._loop = loop
        self._start = start

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._loop.time())

    def drift(self) -> timedelta:
        return timedelta(0)

    def heed(self, told: datetime, sent: datetime, received: datetime) -> None:
        """Nothing: in virtual time there is no other clock."""

    def correction(self) -> timedelta:
        return timedelta(0)

    def stopwatch(self) -> float:
        return time.perf_counter()

    @contextmanager
    def outside(self) -> Iterator[None]:
        self._loop.jumping.outside += 1
        try:
            yield
        finally:
            self._loop.jumping.outside -= 1


_GARBAGE = 100_000
"""So many objects more than before are made before one looks which of them only hold each other."""
VIRTUAL_START = datetime(2026, 1, 5, tzinfo=UTC)


@contextmanager
def _collected_seldom() -> Iterator[None]:
    """Garbage is looked for a hundred times less often: nearly all that a call makes goes when it ends, and each look would go
    through the world, which stays. What is there before the beginning is not looked at."""
    usual = gc.get_threshold()
    gc.set_threshold(_GARBAGE, 50, 50)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)


def run_virtual(main: Any, *, start: datetime = VIRTUAL_START) -> Any:
    """Runs `main(clock)` to its end in virtual time and returns its result."""
    loop = VirtualLoop()
    with _collected_seldom(), asyncio.Runner(loop_factory=lambda: loop) as runner:
        coroutine: Coroutine[Any, Any, Any] = main(VirtualClock(loop, start))
        return runner.run(coroutine)


__all__ = [
    "EPOCH",
    "VIRTUAL_START",
    "RealClock",
    "VirtualClock",
    "VirtualLoop",
    "from_micros",
    "run_virtual",
    "to_micros",
]
