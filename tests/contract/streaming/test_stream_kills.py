"""A streamer that dies at any step: with a cursor nothing is missing, without one all that is missing lies in recorded gaps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from stream_scene import SECOND, START, Scene, play
from test_streamer import PowerCut, listening

from bowerbird.clock import VirtualClock
from bowerbird.model import Answer, Ended, Request, Service, Wire
from bowerbird.ports import Clock
from marks import long

EVENTS = 40
"""One each second from the first on."""


class Broadcast:
    """Tells each event when it happens, on a cursor also those after it; the service knows no other duty."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    async def connect(self, service: Service, request: Request, wire: Wire) -> Programme:
        await self._clock.sleep_until(self._clock.now() + SECOND / 10)
        cursor = dict(request.query).get("cursor")
        return Programme(self._clock, self._now() if cursor is None else int(cursor))

    async def send(self, service: Service, request: Request) -> Answer:
        raise AssertionError("nothing is sent before")

    async def close(self) -> None:
        """Nothing is held open."""

    def _now(self) -> int:
        return (self._clock.now() - START) // SECOND


class Programme:
    """One connection from an event on."""

    def __init__(self, clock: VirtualClock, last: int) -> None:
        self._clock = clock
        self._last = last

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        due = START + (self._last + 1) * SECOND if self._last < EVENTS else until
        await self._clock.sleep_until(min(max(due, self._clock.now()), until))
        if self._last >= EVENTS or due > until:
            return ()
        now = min((self._clock.now() - START) // SECOND, EVENTS)
        messages = [b"post %d" % number for number in range(self._last + 1, now + 1)]
        self._last = now
        return messages

    async def send(self, message: bytes) -> None:
        """Greetings are not answered."""

    async def close(self) -> None:
        """Nothing to do."""


class ShortLivedClock:
    """Cuts the power when it has been looked at so many times, which happens in the middle of transactions too."""

    def __init__(self, clock: Clock, looks: int) -> None:
        self._clock = clock
        self._looks = looks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def now(self) -> datetime:
        self._looks -= 1
        if self._looks < 0:
            raise PowerCut
        return self._clock.now()


async def live(scene: Scene, channel: str, looks: int) -> None:
    """One life of a streamer, cut off after so many looks at the clock."""
    clock, others = scene.clock, asyncio.all_tasks()
    scene.clock = ShortLivedClock(clock, looks)  # type: ignore[assignment]
    with suppress(PowerCut):
        streamer = await scene.streamer(channel)
        scene.clock = clock
        await streamer.run()
    scene.clock = clock
    left = asyncio.all_tasks() - others
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def lives(scene: Scene, channel: str, looks: Sequence[int]) -> None:
    """Several short lives, then one that hears everything to the end."""
    scene.transport = Broadcast(scene.clock)  # type: ignore[assignment]
    for each in looks:
        await live(scene, channel, each)
    async with listening(await scene.streamer(channel)):
        await scene.wait((EVENTS + 5) * SECOND)


@pytest.mark.parametrize("first", [5, *long(*range(13, 45, 8))])
def test_with_a_cursor_nothing_is_missing_and_nothing_counted_twice(first: int) -> None:
    async def work(scene: Scene, looks: int) -> None:
        await lives(scene, "ticks", [looks, 40, looks])
        heard = await scene.posts()
        # Before the first cursor there is nothing to go on from.
        assert heard == list(range(heard[0], EVENTS + 1)), looks
        row = await scene.stream()
        assert (row["events"], row["cursor"]) == (len(heard), str(EVENTS)), looks
        assert all(cause != "outdated" and key is None for cause, key, _ in await scene.gaps())

    for looks in range(first, first + 8):
        play(partial(work, looks=looks))


@pytest.mark.parametrize("first", [5, *long(*range(13, 45, 8))])
def test_without_a_cursor_all_that_is_missing_lies_in_recorded_gaps(first: int) -> None:
    async def work(scene: Scene, looks: int) -> None:
        await lives(scene, "live", [looks, 40, looks])
        heard = await scene.posts()
        gaps = [(int(after or 0), int(before or EVENTS + 1)) for _, after, before in await scene.gaps()]
        missing = sorted(set(range(heard[0], EVENTS)) - set(heard))
        assert [n for n in missing if not any(after < n < before for after, before in gaps)] == [], looks
        assert len(heard) == (await scene.stream())["events"]

    for looks in range(first, first + 8):
        play(partial(work, looks=looks))
