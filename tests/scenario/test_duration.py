"""How long a crawl may run, over all its runs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import LIMIT_REACHED
from bowerbird.errors import Failure
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
SMALL = WorldSettings(accounts=20, seed=5, following=4.0, longest_history=50)
HOUR = timedelta(hours=1)


async def run(laboratory: Laboratory, plan: CrawlPlan, most: timedelta) -> tuple[Failure, timedelta]:
    """Why a run ended, and how long it took; the user ends it after `most`."""
    began = laboratory.clock.now()
    async with laboratory.crawl(plan) as crawl:
        working = asyncio.ensure_future(laboratory.run(crawl))
        over = asyncio.Event()
        working.add_done_callback(lambda _: over.set())
        await laboratory.clock.wait(over, began + most)
        crawl.process.end("enough for today")
        return (await working).reason, laboratory.clock.now() - began


def test_the_duration_counts_over_restarts_and_not_while_nobody_runs_the_crawl(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(world=SMALL), clock)
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), 'stop.duration = "3h"', store=str(tmp_path / "c.db"))
        assert (await run(laboratory, plan, 2 * HOUR))[0].problem == "enough for today"
        await clock.sleep_until(clock.now() + timedelta(days=5))
        reason, took = await run(laboratory, plan, 10 * HOUR)
        assert (reason.code, "3 h 00 min" in reason.problem) == (LIMIT_REACHED, True)
        assert abs(took - HOUR) < timedelta(minutes=2)
        assert (await run(laboratory, plan, 10 * HOUR))[1] < timedelta(minutes=1)

    run_virtual(main, start=START)
