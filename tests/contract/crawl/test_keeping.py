"""Scheduled backups: one worker of a crawl takes each copy, whoever of them is alive, and restarts do not put it off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bowerbird.clock import VIRTUAL_START, VirtualClock, run_virtual
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db import open_database
from bowerbird.errors import StoreError
from bowerbird.flows.files.sections.backup_plan import BackupPlan
from bowerbird.modules.backups import BackupTaker, Turns
from bowerbird.ports import Database
from failures import raises_code

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
NAME = "floods"


class Fleet:
    """The workers of one crawl over several runs, in virtual time; the folders of the first are `0`, of the second `1` …"""

    def __init__(self, place: str, folder: Path) -> None:
        self._place = place
        self._folder = folder
        self.now = VIRTUAL_START

    def run(self, work: Callable[[Database, VirtualClock], Awaitable[Any]]) -> Any:
        """Goes on from where the last run ended."""

        async def main(clock: VirtualClock) -> Any:
            database = await open_database(self._place, clock)
            try:
                await database.create_tables()
                async with database.transaction() as tx:
                    await registry.enrol_crawl(tx, NAME, "{}", "{}", clock.now())
                return await work(database, clock)
            finally:
                self.now = clock.now()
                await database.close()

        return run_virtual(main, start=self.now)

    async def worker(self, database: Database, clock: VirtualClock, every: timedelta) -> tuple[int, Turns]:
        async with database.transaction() as tx:
            number = await registry.enrol_worker(tx, NAME, clock.now())
        turns = Turns(database, NAME, WorkerClaims(lambda: number), every, clock)
        await turns.enrol()
        return number, turns

    def keeper(self, turns: Turns, clock: VirtualClock, every: timedelta, where: str = "0", *, keep: int = 100) -> BackupTaker:
        return BackupTaker(self._place, BackupPlan(every=every, folder=str(self._folder / where), keep=keep), turns)

    def crawl(self, span: timedelta, every: timedelta, *, workers: int = 1, keep: int = 100) -> None:
        """One run of so many workers."""

        async def work(database: Database, clock: VirtualClock) -> None:
            made = [await self.worker(database, clock, every) for _ in range(workers)]
            keepers = [self.keeper(turns, clock, every, str(n), keep=keep) for n, (_, turns) in enumerate(made)]
            tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
            await clock.sleep_until(clock.now() + span)
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            async with database.transaction() as tx:
                await registry.end_workers(tx, [number for number, _ in made], clock.now())

        self.run(work)

    def taken(self, *folders: str) -> list[float]:
        """After how many hours of the crawl copies were taken."""
        paths = [path for name in folders or ("*",) for path in self._folder.glob(f"{name}/{NAME}-*.backup.db")]
        return sorted(hours(path.name.removeprefix(f"{NAME}-")[:15]) for path in paths)


def hours(stamp: str) -> float:
    return round((datetime.strptime(f"{stamp}+0000", "%Y%m%d-%H%M%S%z") - VIRTUAL_START) / HOUR, 1)


@pytest.fixture(params=["sqlite", "postgresql"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Fleet:
    place = str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))
    return Fleet(place, tmp_path / "kept")


def test_the_schedule_goes_on_after_a_restart_and_only_the_newest_are_kept(fleet: Fleet, tmp_path: Path) -> None:
    fleet.crawl(13 * HOUR, 6 * HOUR, keep=2)
    mine = tmp_path / "kept" / "0" / "mine.backup.db"
    mine.write_text("somebody else's")
    assert fleet.taken() == [6, 12]
    fleet.crawl(6 * HOUR, 6 * HOUR, keep=2)
    assert fleet.taken() == [12, 18]
    assert mine.exists()


def test_of_several_workers_one_takes_each_copy(fleet: Fleet) -> None:
    fleet.crawl(19 * HOUR, 6 * HOUR, workers=3)
    assert fleet.taken() == [6, 12, 18]


def test_a_crawl_that_is_restarted_more_often_than_copies_are_due_gets_them(fleet: Fleet) -> None:
    for _ in range(5):
        fleet.crawl(5 * HOUR, 12 * HOUR)
    assert fleet.taken() == [12, 24]


def test_after_a_long_outage_one_copy_is_due_at_once(fleet: Fleet) -> None:
    fleet.crawl(HOUR, 6 * HOUR)
    fleet.now += timedelta(days=10)
    fleet.crawl(7 * HOUR, 6 * HOUR)
    assert fleet.taken() == [241, 247]


def test_a_shorter_schedule_holds_at_once(fleet: Fleet) -> None:
    fleet.crawl(HOUR, timedelta(days=30))
    fleet.crawl(3 * HOUR, 2 * HOUR)
    assert fleet.taken() == [3]


def test_a_worker_that_dies_over_a_copy_is_replaced_and_one_that_lives_is_not(fleet: Fleet) -> None:
    async def work(database: Database, clock: VirtualClock) -> None:
        first, dying = await fleet.worker(database, clock, HOUR)
        _, other = await fleet.worker(database, clock, HOUR)
        await clock.sleep_until(clock.now() + HOUR)
        assert await dying.take() is None
        task = asyncio.create_task(fleet.keeper(other, clock, HOUR).run())
        await clock.sleep_until(clock.now() + 30 * MINUTE)
        assert fleet.taken() == []
        async with database.transaction() as tx:
            await registry.end_workers(tx, [first], clock.now())
        await clock.sleep_until(clock.now() + MINUTE)
        assert fleet.taken() == [1.5]
        # Were it only asleep: it has nothing to say any more.
        await dying.hand_on(clock.now())
        await clock.sleep_until(clock.now() + 10 * MINUTE)
        task.cancel()

    fleet.run(work)
    assert fleet.taken() == [1.5]


def test_a_worker_that_lives_and_hangs_over_a_copy_is_replaced_after_an_hour(fleet: Fleet) -> None:
    async def work(database: Database, clock: VirtualClock) -> None:
        (_, hanging), (_, other) = [await fleet.worker(database, clock, HOUR) for _ in range(2)]
        await clock.sleep_until(clock.now() + HOUR)
        assert await hanging.take() is None
        task = asyncio.create_task(fleet.keeper(other, clock, 9 * HOUR).run())
        await clock.sleep_until(clock.now() + 2 * HOUR)
        task.cancel()

    fleet.run(work)
    assert fleet.taken() == [2]


def test_a_copy_that_takes_for_hours_stays_with_its_worker(fleet: Fleet) -> None:
    async def work(database: Database, clock: VirtualClock) -> None:
        (_, slow), (_, other) = [await fleet.worker(database, clock, HOUR) for _ in range(2)]
        await clock.sleep_until(clock.now() + HOUR)
        assert await slow.take() is None
        renewing = asyncio.create_task(slow.keep())
        for _ in range(9):
            await clock.sleep_until(clock.now() + HOUR)
            assert await other.take() is not None
        renewing.cancel()

    fleet.run(work)


def test_workers_that_ask_at_the_same_moment_do_not_both_get_it(fleet: Fleet) -> None:
    async def work(database: Database, clock: VirtualClock) -> Sequence[datetime | None]:
        turns = [(await fleet.worker(database, clock, HOUR))[1] for _ in range(4)]
        await clock.sleep_until(clock.now() + HOUR)
        return await asyncio.gather(*(each.take() for each in turns))

    answers = fleet.run(work)
    assert answers.count(None) == 1


def test_a_worker_that_cannot_take_the_copy_leaves_it_to_another(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "full").write_text("no folder")

    async def work(database: Database, clock: VirtualClock) -> None:
        (_, first), (_, other) = [await fleet.worker(database, clock, HOUR) for _ in range(2)]
        await clock.sleep_until(clock.now() + HOUR)
        with raises_code(StoreError, "file_unwritable") as caught:
            await fleet.keeper(first, clock, HOUR, "full").run()
        assert str(tmp_path / "kept" / "full") in caught.value.problem
        task = asyncio.create_task(fleet.keeper(other, clock, HOUR).run())
        await clock.sleep_until(clock.now() + MINUTE)
        task.cancel()

    fleet.run(work)
    assert fleet.taken("0") == [1]


def test_what_a_killed_worker_left_unfinished_is_removed_with_the_next_copy(fleet: Fleet, tmp_path: Path) -> None:
    folder = tmp_path / "kept" / "0"
    folder.mkdir(parents=True)
    left = [f"{NAME}-20260105-000000.backup.db.{ending}" for ending in ("0a1b.unfinished", "0a1b.unfinished-wal")]
    others = [f"other{left[0]}", "mine.backup.db.0a1b.unfinished"]
    for name in (*left, *others):
        (folder / name).touch()
    fleet.crawl(2 * HOUR, HOUR)
    assert {path.name for path in folder.iterdir() if "unfinished" in path.name} == set(others)
