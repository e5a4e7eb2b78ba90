"""A crawl that was told to spread its calls makes them last for its time, over restarts too, and keeps some for its end."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.coverage import Wish, evaluate_coverage
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
SMALL = WorldSettings(accounts=40, seed=5, following=4.0, longest_history=50)
DAY = timedelta(days=1)
CALLS = 80
STOP = f'stop.duration = "2d"\nstop.calls = {CALLS}'


async def _run(laboratory: Laboratory, plan: CrawlPlan, most: timedelta) -> list[tuple[str, timedelta]]:
    """The facet of each call made so far, and when it was made; the user ends the run after `most`."""
    began = laboratory.clock.now()
    async with laboratory.crawl(plan) as crawl:
        working = asyncio.ensure_future(laboratory.run(crawl))
        over = asyncio.Event()
        working.add_done_callback(lambda _: over.set())
        await laboratory.clock.wait(over, began + most)
        crawl.process.end("enough for today")
        await working
        async with crawl.database.reading() as tx:
            rows = await tx.fetch(
                "select l.facet, c.leased_at from calls c join lanes l on l.lane = c.lane order by c.leased_at, c.call"
            )
    return [
        (str(row["facet"]), timedelta(microseconds=row["leased_at"]) - (START - datetime(1970, 1, 1, tzinfo=UTC))) for row in rows
    ]


def _calls(stop: str, *pauses: timedelta, store: str = ":memory:") -> list[tuple[str, timedelta]]:
    async def main(clock: VirtualClock) -> list[tuple[str, timedelta]]:
        laboratory = Laboratory(Setup(dialect="twitter_v1", world=SMALL), clock)
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), stop, store=store)
        for pause in pauses:
            await _run(laboratory, plan, DAY / 2)
            await clock.sleep_until(clock.now() + pause)
        return await _run(laboratory, plan, 10 * DAY)

    made: list[tuple[str, timedelta]] = run_virtual(main, start=START)
    return made


def test_calls_last_for_the_whole_time_and_are_never_more() -> None:
    made = _calls(f"{STOP}\nstop.spread = true")
    assert len(made) == CALLS
    assert 1.95 * DAY < made[-1][1] < 2 * DAY
    assert sum(at < DAY for _, at in made) == pytest.approx(CALLS * 0.6 / 1.9, abs=2)


def test_who_is_not_told_to_spread_them_makes_them_at_once() -> None:
    made = _calls(STOP)
    assert len(made) == CALLS
    assert made[-1][1] < DAY / 2


def test_a_crawl_that_was_stopped_for_a_week_goes_on_where_it_was(tmp_path: Path) -> None:
    made = _calls(f"{STOP}\nstop.spread = true", 7 * DAY, store=str(tmp_path / "c.db"))
    assert len(made) == CALLS
    assert sum(at < DAY for _, at in made) == pytest.approx(CALLS * 0.3 / 1.9, abs=2)
    assert 8.9 * DAY < made[-1][1] < 9 * DAY


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    names = ("two_stage_quarter", "two_stage_quarter_pace")
    return evaluate_coverage(Wish(accounts=150, days=4, policies=names, jobs=1), lambda text: None)


def test_as_many_calls_capture_more_when_some_are_kept_for_the_end(figures: dict[str, Any]) -> None:
    kept, even = figures["two_stage_quarter"], figures["two_stage_quarter_pace"]
    assert kept["calls"] <= even["calls"]
    assert kept["refused"] == 0
    assert kept["posts"] > even["posts"] + 0.01


def test_the_policies_alone_keep_as_much(figures: dict[str, Any]) -> None:
    alone = evaluate_coverage(Wish(accounts=150, days=4, policies=("two_stage_quarter",), fast=True), lambda text: None)
    assert alone["two_stage_quarter"]["posts"] == pytest.approx(figures["two_stage_quarter"]["posts"], abs=0.02)
    assert alone["two_stage_quarter"]["calls"] == pytest.approx(figures["two_stage_quarter"]["calls"], abs=2)
