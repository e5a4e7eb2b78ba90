"""A run that opens its crawl several times tells of all of it: as many calls as the time that it shows took."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bowerbird.cli.live.watcher import Earlier, Watcher
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.reports.status.glimpse import Glimpse
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
WORLD = WorldSettings(seed=3, accounts=40, following=6.0, posts_per_day=4, history=timedelta(days=1), longest_history=10)


def test_time_and_counts_of_a_run_agree_however_often_its_crawl_is_opened(tmp_path: Path) -> None:
    told: list[Glimpse] = []

    async def main(clock: VirtualClock) -> None:
        laboratory, earlier = Laboratory(Setup(dialect="mastodon", world=WORLD), clock), Earlier(clock.now())
        for calls in (5, 9):
            stop = f"[stop]\ncalls = {calls}"
            plan = laboratory.plan('flow = "topic"', ["#music"], more=stop, store=str(tmp_path / "a.db"))
            async with laboratory.crawl(plan) as crawl:
                await laboratory.run(crawl)
                told.append(await Watcher(crawl, clock, earlier).glimpse())
                earlier = earlier.and_now(crawl.tally)

    run_virtual(main, start=START)
    first, second = told
    assert first.elapsed < second.elapsed == second.now - START
    assert first.run.calls >= 5
    assert second.run.calls >= 9
    assert second.run.posts >= second.whole.posts - first.whole.posts + first.run.posts
