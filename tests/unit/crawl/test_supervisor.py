"""Crashed parts start again with growing waits and a record; silent ones are named; an end is orderly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.restarts import RESTARTS
from bowerbird.crawl.process.supervisor import Supervisor
from bowerbird.ports import Part

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def supervised(scene: Callable[[Supervisor, VirtualClock, list[str]], Any]) -> list[str]:
    notes: list[str] = []

    async def noted(part: str, words: str) -> None:
        notes.append(f"{part}: {words}")

    async def main(clock: VirtualClock) -> None:
        supervisor = Supervisor(clock, noted)
        await scene(supervisor, clock, notes)

    run_virtual(main)
    return notes


def test_a_crashed_part_starts_again_and_waits_longer_each_time_up_to_a_bound() -> None:
    starts: list[datetime] = []

    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        async def crash() -> None:
            starts.append(clock.now())
            raise RuntimeError("broken")

        supervisor.start(Part(name="ears", run=crash))
        await clock.sleep_until(clock.now() + timedelta(hours=2))
        await supervisor.end(MINUTE)

    notes = supervised(scene)
    waits = [round((later - earlier).total_seconds()) for earlier, later in pairwise(starts)]
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == RESTARTS.most.total_seconds()
    assert len(notes) == len(starts)
    assert notes[0].startswith("ears: ")
    assert "RuntimeError: broken" in notes[0]


def test_a_part_that_ran_well_for_a_while_waits_shortly_after_its_next_crash() -> None:
    starts: list[datetime] = []

    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        async def crash_later() -> None:
            starts.append(clock.now())
            await clock.sleep_until(clock.now() + timedelta(minutes=11))
            raise RuntimeError("broken")

        supervisor.start(Part(name="ears", run=crash_later))
        await clock.sleep_until(clock.now() + timedelta(minutes=40))
        await supervisor.end(MINUTE)

    supervised(scene)
    assert round((starts[2] - starts[1]).total_seconds()) == 11 * 60 + 1


@pytest.mark.parametrize(("asked", "waited"), [(None, 50), (20, 20)])
def test_a_part_may_finish_after_the_last_call_unless_an_end_is_asked_for(asked: int | None, waited: int) -> None:
    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        enough, began = asyncio.Event(), clock.now()

        async def run() -> None:
            await clock.sleep_until(began + 50 * SECOND)

        if asked is not None:
            asyncio.get_running_loop().call_later(asked, enough.set)
        supervisor.start(Part(name="media", run=run, end=lambda: None, finish=lambda: None))
        await supervisor.finish(MINUTE, enough, began + timedelta(days=1))
        assert round((clock.now() - began).total_seconds()) == waited
        await supervisor.end(MINUTE)

    assert supervised(scene) == []


def test_parts_that_would_bring_more_end_before_others_finish() -> None:
    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        is_over, ended = asyncio.Event(), []

        async def hear() -> None:
            await is_over.wait()
            ended.append("ears")

        async def fetch() -> None:
            await clock.sleep_until(clock.now() + MINUTE)
            ended.append("media")

        supervisor.start(Part(name="media", run=fetch, end=lambda: None, finish=lambda: ended.append("last")))
        supervisor.start(Part(name="ears", run=hear, end=is_over.set))
        await supervisor.finish(MINUTE, asyncio.Event(), clock.now() + timedelta(days=1))
        assert ended == ["ears", "last", "media"]
        await supervisor.end(MINUTE)

    assert supervised(scene) == []


def test_a_part_that_crashes_again_and_again_while_it_finishes_does_not_hold_the_end_up() -> None:
    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        async def run() -> None:
            await clock.sleep_until(clock.now() + SECOND)
            raise RuntimeError("broken")

        supervisor.start(Part(name="media", run=run, end=lambda: None, finish=lambda: None))
        began = clock.now()
        await supervisor.finish(MINUTE, asyncio.Event(), began + timedelta(days=1))
        assert clock.now() - began < MINUTE

    assert len(supervised(scene)) == 5


def test_a_part_that_comes_to_its_own_end_is_not_started_again() -> None:
    ran: list[int] = []

    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        async def once() -> None:
            ran.append(1)

        supervisor.start(Part(name="once", run=once))
        await clock.sleep_until(clock.now() + MINUTE)
        await supervisor.end(MINUTE)

    assert supervised(scene) == []
    assert ran == [1]


def test_an_end_lets_a_part_finish_and_cancels_one_that_does_not() -> None:
    ended: list[str] = []

    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        asked = asyncio.Event()

        async def orderly() -> None:
            await asked.wait()
            await clock.sleep_until(clock.now() + timedelta(seconds=5))
            ended.append("orderly")

        async def deaf() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("deaf")
                raise

        supervisor.start(Part(name="orderly", run=orderly, end=asked.set))
        supervisor.start(Part(name="deaf", run=deaf, end=lambda: None))
        await clock.sleep_until(clock.now() + timedelta(seconds=1))
        began = clock.now()
        await supervisor.end(MINUTE)
        assert round((clock.now() - began).total_seconds()) == 60

    supervised(scene)
    assert ended == ["orderly", "deaf"]


def test_a_part_that_is_silent_for_an_hour_is_started_again_and_then_given_an_hour_anew() -> None:
    starts: list[datetime] = []

    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        began = clock.now()

        async def stuck() -> None:
            starts.append(clock.now())
            await asyncio.Event().wait()

        supervisor.start(Part(name="ears", run=stuck, is_alive_since=lambda: began, silence=10 * MINUTE))
        for _ in range(125):
            await clock.sleep_until(clock.now() + MINUTE)
            await supervisor.look()
        assert supervisor.restarts == 2
        assert supervisor.longest_silence() < 11 * MINUTE
        await supervisor.end(timedelta(0))

    notes = supervised(scene)
    assert [round((later - earlier) / MINUTE) for earlier, later in pairwise(starts)] == [60, 60]
    assert all(note.startswith("ears: ") for note in notes)
    assert ["3600 s" in note for note in notes] == [False, True, False, True]


def test_a_silent_part_that_does_not_let_go_is_not_started_twice() -> None:
    starts: list[datetime] = []

    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        began, free = clock.now(), asyncio.Event()

        async def deaf() -> None:
            starts.append(clock.now())
            while not free.is_set():
                with suppress(asyncio.CancelledError):
                    await free.wait()

        supervisor.start(Part(name="ears", run=deaf, is_alive_since=lambda: began, silence=10 * MINUTE))
        await clock.sleep_until(clock.now() + 70 * MINUTE)
        await supervisor.look()
        assert supervisor.longest_silence() > 70 * MINUTE
        free.set()
        await supervisor.end(timedelta(0))

    supervised(scene)
    assert len(starts) == 1


def test_a_silent_part_is_named_once_with_the_place_where_it_waits() -> None:
    async def scene(supervisor: Supervisor, clock: VirtualClock, notes: list[str]) -> None:
        began = clock.now()

        async def stuck() -> None:
            await asyncio.Event().wait()

        supervisor.start(Part(name="ears", run=stuck, is_alive_since=lambda: began, silence=MINUTE))
        for _ in range(5):
            await clock.sleep_until(clock.now() + MINUTE)
            await supervisor.look()
        await supervisor.end(timedelta(0))

    notes = supervised(scene)
    assert len(notes) == 1
    assert notes[0].startswith("ears: ")
    assert "120 s" in notes[0]
    assert "test_supervisor.py" in notes[0]
