"""Things that break in the middle of a crawl: it goes on, and ends with what an untroubled crawl ends with."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec import structs
from still_world import MASTODON, SHORT, START, TWITTER, column, differences, in_trouble, plan_of, untroubled

from bowerbird.app import Crawl, Outside, open_crawl
from bowerbird.clock import RealClock
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.errors import DiskFull
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.evaluate.crash.inventory import compare
from bowerbird.evaluate.crash.rounds import opened_round
from bowerbird.evaluate.crash.scene import Scene
from bowerbird.evaluate.crash.stores import SqliteStores
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Answer, Request, Service
from bowerbird.ports import Clock, Transport
from bowerbird.providers.mastodon.api import Mastodon
from bowerbird.simulated.faults import Faults
from bowerbird.transport import Bounds, HttpTransport
from failures import raises_code
from marks import long

SCENES = pytest.mark.parametrize("scene", [TWITTER, *long(MASTODON)], ids=lambda scene: scene.dialect)
OFTEN = timedelta(seconds=1)
SELDOM = timedelta(seconds=20)
"""Where a crawl has minutes to wait."""


async def run(crawl: Crawl, *, watch_every: timedelta = OFTEN) -> str:
    ending = await crawl.process.run(crawl.seeds, slots=crawl.plan.concurrency, watch_every=watch_every)
    return ending.state


async def no_refusal(laboratory: Laboratory) -> None:
    audit = laboratory.service.audit()
    assert (audit["refused"], audit["over_limit"]) == (0, 0)


# -- a process that is gone from one moment to the next ---------------------------------------------------------------


class PowerCut(BaseException):
    """The process is gone; nothing in it runs any further."""


class ShortLivedClock:
    """Cuts the power when it has been looked at so many times, which the engine also does in the middle of transactions."""

    def __init__(self, clock: Clock, looks: int) -> None:
        self._clock = clock
        self._looks = looks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def now(self) -> datetime:
        self._look()
        return self._clock.now()

    def stopwatch(self) -> float:
        self._look()
        return self._clock.stopwatch()

    def _look(self) -> None:
        self._looks -= 1
        if self._looks < 0:
            raise PowerCut


async def live(laboratory: Laboratory, scene: Scene, store: Path, looks: int) -> str:
    """One life of a crawl, cut off after so many looks at the clock; says how it ended."""
    outside = structs.replace(laboratory.outside(), clock=ShortLivedClock(laboratory.clock, looks))
    others = asyncio.all_tasks()
    try:
        async with open_crawl(plan_of(laboratory, scene, str(store)), outside) as crawl:
            return await run(crawl)
    except PowerCut:
        return "cut"
    finally:
        left = asyncio.all_tasks() - others
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


@pytest.mark.parametrize("scene", [TWITTER, *long(MASTODON)], ids=["twitter_v1", "mastodon"])
@pytest.mark.parametrize("seed", [0, *long(1)])
def test_a_process_cut_off_anywhere_any_number_of_times_loses_and_doubles_nothing(
    scene: Scene, seed: int, tmp_path: Path
) -> None:
    async def work(laboratory: Laboratory) -> int:
        lives, dice = 0, random.Random(seed)
        while await live(laboratory, scene, tmp_path / "crawl.db", dice.randint(1, 400)) != "finished":
            lives += 1
        async with open_crawl(plan_of(laboratory, scene, str(tmp_path / "crawl.db")), laboratory.outside()) as crawl:
            found = await differences(crawl.database, scene)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)
        return lives

    assert in_trouble(scene, work) >= 5


@pytest.mark.long
def test_a_process_cut_off_at_each_single_step_of_its_first_calls_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory, looks: int) -> None:
        store = tmp_path / f"{looks}.db"
        assert await live(laboratory, SHORT, store, looks) == "cut"
        assert await live(laboratory, SHORT, store, 10**9) == "finished"
        async with open_crawl(plan_of(laboratory, SHORT, str(store)), laboratory.outside()) as crawl:
            found = await differences(crawl.database, SHORT)
            assert found.total == 0, (looks, found.examples)
        await no_refusal(laboratory)

    for looks in range(8, 68, 5):
        in_trouble(SHORT, lambda laboratory, looks=looks: work(laboratory, looks))


# -- a worker that sleeps too long ------------------------------------------------------------------------------------


class SleepyTransport:
    """Passes everything on, but the first answers only after a long sleep."""

    def __init__(self, transport: Transport, clock: Clock, *, answers: int, sleep: timedelta) -> None:
        self._transport = transport
        self._clock = clock
        self._answers = answers
        self._sleep = sleep

    async def send(self, service: Service, request: Request) -> Answer:
        answer = await self._transport.send(service, request)
        if request.path == Mastodon.probe_path:
            # Asked before there is a worker that could sleep.
            return answer
        self._answers -= 1
        if self._answers >= 0:
            await self._clock.sleep_until(self._clock.now() + self._sleep)
        return answer

    async def close(self) -> None:
        await self._transport.close()


def sleepy(laboratory: Laboratory, answers: int) -> Outside:
    outside = laboratory.outside()
    transport = SleepyTransport(outside.transport, outside.clock, answers=answers, sleep=timedelta(minutes=20))
    return structs.replace(outside, transport=transport, glance=SELDOM)


@SCENES
def test_a_worker_that_sleeps_past_its_lease_is_fenced_while_another_does_its_work(scene: Scene, tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = plan_of(laboratory, scene, str(tmp_path / "crawl.db"))
        async with open_crawl(plan, sleepy(laboratory, answers=5)) as asleep:
            sleeping = asyncio.create_task(run(asleep, watch_every=timedelta(days=1)))
            await laboratory.clock.sleep_until(laboratory.clock.now() + timedelta(minutes=5))
            # In one process: whoever starts later takes the other for dead, as it would a machine that does not answer.
            async with open_crawl(plan, laboratory.outside()) as awake:
                assert await run(awake) == "finished"
            assert await sleeping == "finished"
            assert asleep.tally.fenced >= 1
            found = await differences(asleep.database, scene)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)

    in_trouble(scene, work)


def test_a_lone_worker_whose_answers_come_after_the_lease_drops_them_and_asks_again() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with open_crawl(plan_of(laboratory, MASTODON), sleepy(laboratory, answers=3)) as crawl:
            assert await run(crawl, watch_every=SELDOM) == "finished"
            assert crawl.tally.fenced == 3
            assert await column(crawl.database, "select count(*) from calls where outcome in ('fenced', 'lost')") == [3]
            found = await differences(crawl.database, MASTODON)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)

    in_trouble(MASTODON, work)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_two_processes_on_one_store_share_its_ledgers(tmp_path: Path) -> None:
    async def work() -> None:
        clock = RealClock()
        stores = SqliteStores(clock)
        async with opened_round(MASTODON, MASTODON.world(), stores, tmp_path, clock) as round_:
            processes = [await CrawlProcess.start(round_.file, ["--join"]) for _ in range(2)]
            ended = [await process.ends_within(timedelta(seconds=240)) for process in processes]
            for process in processes:
                await process.kill()
            assert ended == [True, True]
            assert [process.code for process in processes] == [0, 0], [process.last_words() for process in processes]
            found = compare(await round_.inventory(), wanted)
            assert found.total == 0, found.examples
            assert round_.service.audit()["over_limit"] == round_.service.limiter.refused == 0

    wanted = untroubled(MASTODON)
    asyncio.run(work())
    connection = sqlite_module().connect(tmp_path / "crash.db")
    workers = connection.execute("select count(*) from workers where ended_at is not null").fetchone()
    connection.close()
    # How the calls are divided is a race between the two; that both came and ended in order is not.
    assert workers[0] == 2


# -- our own database ---------------------------------------------------------------------------------------------------


async def limit_pages(crawl: Crawl, sql: str) -> None:
    async with crawl.database.transaction() as tx:
        await tx.execute(sql)


def test_a_full_disk_is_waited_out_with_a_message(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> str:
        async with laboratory.crawl(plan_of(laboratory, MASTODON, str(tmp_path / "crawl.db"))) as crawl:
            running = asyncio.create_task(run(crawl))
            await laboratory.clock.sleep_until(START + timedelta(seconds=4))
            [pages] = await column(crawl.database, "pragma page_count")
            await limit_pages(crawl, f"pragma max_page_count = {pages}")
            await laboratory.clock.sleep_until(START + timedelta(minutes=4))
            trouble, calls = crawl.tally.trouble, crawl.tally.calls
            await laboratory.clock.sleep_until(START + timedelta(minutes=5))
            assert crawl.tally.calls == calls
            await limit_pages(crawl, "pragma max_page_count = 1000000000")
            assert await running == "finished"
            found = await differences(crawl.database, MASTODON)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)
        return trouble

    trouble = in_trouble(MASTODON, work)
    assert "crawl.db" in trouble
    assert "disk is full" in trouble  # in SQLite's words


@pytest.mark.long
def test_a_disk_that_stays_full_ends_the_crawl_and_it_goes_on_later(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = plan_of(laboratory, MASTODON, str(tmp_path / "crawl.db"))
        async with laboratory.crawl(plan) as crawl:
            running = asyncio.create_task(run(crawl, watch_every=SELDOM))
            await laboratory.clock.sleep_until(START + timedelta(seconds=4))
            [pages] = await column(crawl.database, "pragma page_count")
            await limit_pages(crawl, f"pragma max_page_count = {pages}")
            with raises_code(DiskFull, "disk_full"):
                await running
        async with laboratory.crawl(plan) as crawl:
            assert await run(crawl) == "finished"
            found = await differences(crawl.database, MASTODON)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)

    in_trouble(MASTODON, work)


def test_a_database_locked_by_another_for_minutes_is_waited_for(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> str:
        store = tmp_path / "crawl.db"
        async with laboratory.crawl(plan_of(laboratory, MASTODON, str(store))) as crawl:
            running = asyncio.create_task(run(crawl))
            await laboratory.clock.sleep_until(START + timedelta(seconds=4))
            other = sqlite_module().connect(store, isolation_level=None)
            other.execute("begin immediate")
            await laboratory.clock.sleep_until(START + timedelta(minutes=4))
            trouble = crawl.tally.trouble
            other.execute("rollback")
            other.close()
            assert await running == "finished"
            [noted] = await column(crawl.database, "select message from errors where part = 'database'")
            assert "which the crawl waited: the database" in noted
            found = await differences(crawl.database, MASTODON)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)
        return trouble

    assert "locked by another process" in in_trouble(MASTODON, work)


# -- clocks -------------------------------------------------------------------------------------------------------------


class SetClock:
    """A clock whose system was set far away in the middle of the crawl."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def drift(self) -> timedelta:
        return timedelta(hours=-3) if self._clock.now() > START + timedelta(seconds=5) else timedelta(0)


def test_a_system_clock_that_is_set_is_noted_once_and_changes_nothing() -> None:
    async def work(laboratory: Laboratory) -> None:
        outside = structs.replace(laboratory.outside(), clock=SetClock(laboratory.clock))
        async with open_crawl(plan_of(laboratory, MASTODON), outside) as crawl:
            assert await run(crawl) == "finished"
            [message] = await column(crawl.database, "select message from errors where part = 'clock'")
            assert "the system clock was set" in message
            found = await differences(crawl.database, MASTODON)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)

    in_trouble(MASTODON, work)


class WokenClock(SetClock):
    """A clock that stood still while its machine slept, until it hears the time of its database."""

    _heard_at = START

    def heed(self, told: datetime, sent: datetime, received: datetime) -> None:
        self._heard_at = self._clock.now()

    def drift(self) -> timedelta:
        woke_at = START + timedelta(seconds=5)
        return timedelta(hours=8) if self._heard_at < woke_at <= self._clock.now() else timedelta(0)


def test_a_machine_that_slept_asks_its_database_for_the_time_before_it_calls_its_clock_wrong(migrated_url: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        outside = structs.replace(laboratory.outside(), clock=WokenClock(laboratory.clock))
        async with open_crawl(plan_of(laboratory, MASTODON, migrated_url), outside) as crawl:
            assert await run(crawl) == "finished"
            assert laboratory.clock.now() > START + timedelta(seconds=5)
            assert await column(crawl.database, "select message from errors where part = 'clock'") == []

    in_trouble(MASTODON, work)


class CorrectedClock(SetClock):
    """A clock that goes by the database's, half a minute before that of its machine."""

    def drift(self) -> timedelta:
        return timedelta(0)

    def correction(self) -> timedelta:
        return timedelta(seconds=-30)


def test_a_machine_whose_clock_is_not_that_of_the_database_is_told_so_once() -> None:
    async def work(laboratory: Laboratory) -> None:
        outside = structs.replace(laboratory.outside(), clock=CorrectedClock(laboratory.clock))
        async with open_crawl(plan_of(laboratory, MASTODON), outside) as crawl:
            assert await run(crawl) == "finished"
            [message] = await column(crawl.database, "select message from errors where part = 'clock'")
            assert "the clock of this machine is 30 s ahead of the database's" in message

    in_trouble(MASTODON, work)


@SCENES
@pytest.mark.parametrize("skew", [timedelta(hours=9), timedelta(hours=-5, minutes=-7), timedelta(days=400)], ids=str)
def test_a_server_whose_clock_is_hours_away_is_never_asked_too_often(scene: Scene, skew: timedelta) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan_of(laboratory, scene)) as crawl:
            assert await run(crawl) == "finished"
            found = await differences(crawl.database, scene)
            assert found.total == 0, found.examples
        await no_refusal(laboratory)

    in_trouble(scene, work, Faults(skew=skew))


# -- servers that lie ---------------------------------------------------------------------------------------------------

OTHERS_MEANWHILE = """
select count(*) from calls refused join calls other on other.credential <> refused.credential
where refused.outcome = 'rate_limited' and other.leased_at > refused.settled_at and not exists (
    select 1 from calls again where again.credential = refused.credential
    and again.leased_at > refused.settled_at and again.leased_at < other.leased_at)
"""
"""Calls with other credentials between a refusal and the next call with the one refused."""


@SCENES
def test_a_server_that_promises_too_much_costs_refusals_but_only_its_bucket_waits(scene: Scene) -> None:
    async def work(laboratory: Laboratory) -> None:
        # Without the allowances of the crawl file, which a promise could not raise.
        async with laboratory.crawl(plan_of(laboratory, scene, knows_allowances=False)) as crawl:
            assert await run(crawl) == "finished"
            refusals = await column(crawl.database, "select count(*) from errors where outcome = 'rate_limited'")
            assert 0 < refusals[0] == laboratory.service.limiter.refused < laboratory.service.calls / 5
            assert (await column(crawl.database, OTHERS_MEANWHILE))[0] > 0
            found = await differences(crawl.database, scene)
            found.loose -= refusals[0]
            assert found.total == 0, found.examples

    in_trouble(scene, work, Faults(rates={"remaining_high": 0.9}))


@asynccontextmanager
async def pouring(pieces: int, piece: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """A server whose every answer is that many pieces long; says how many it got rid of."""
    poured: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        with suppress(ConnectionError):
            for number in range(pieces):
                await response.write(piece)
                poured.append(number)
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", poured
    finally:
        await runner.cleanup()


async def test_an_answer_of_200_megabytes_is_cut_off_at_the_bound() -> None:
    megabyte = b"[" * 1_000_000
    transport = HttpTransport(RealClock(), "test")
    async with pouring(200, megabyte) as (base, poured):
        answer = await transport.send(Service(name="s", provider="mastodon", base=base), Request(path="/api/v1/accounts"))
        await transport.close()
    assert (answer.status, answer.body) == (0, b"")
    assert "large" in answer.failure or "bytes" in answer.failure
    assert len(poured) < 2 * Bounds().body / len(megabyte)
