"""A loop of calls that is stuck is named; one that rests, or is paused, is not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from bowerbird.app import Crawl, open_crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Answer, Request, Service
from bowerbird.ports import Transport
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
TINY = WorldSettings(accounts=10, seed=5, following=3.0, longest_history=20)


class Deaf:
    """A transport that forgets its calls: whatever waits for one of them waits for ever."""

    async def send(self, service: Service, request: Request) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError("nothing comes back")

    async def close(self) -> None: ...


def in_laboratory(work: Callable[[Laboratory], Awaitable[Any]]) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(world=TINY), clock))

    return run_virtual(main, start=START)


async def errors(crawl: Crawl) -> list[tuple[str, str]]:
    async with crawl.database.reading() as tx:
        return [(row["part"], row["message"]) for row in await tx.fetch("select part, message from errors order by error")]


def test_a_loop_of_calls_that_is_stuck_is_named_once_with_the_place_where_it_waits() -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(), "concurrency = 1")
        async with open_crawl(plan, structs.replace(laboratory.outside(), transport=Deaf())) as crawl:
            running = asyncio.create_task(laboratory.run(crawl))
            await laboratory.clock.sleep_until(START + timedelta(minutes=55))
            noted = await errors(crawl)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert [part for part, _ in noted] == ["calls"]
        assert noted[0][1].startswith("no sign of life for ")
        assert "process/worker.py" in noted[0][1]

    in_laboratory(work)


class HardOfHearing:
    """A transport that forgets its first two calls and then works."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.asked = 0

    async def send(self, service: Service, request: Request) -> Answer:
        self.asked += 1
        if self.asked <= 2:
            await asyncio.Event().wait()
        return await self._inner.send(service, request)

    async def close(self) -> None: ...


def test_a_loop_of_calls_that_is_stuck_for_an_hour_is_started_again_and_the_crawl_comes_to_its_end() -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow.seeds = ["profiles"]\nflow.facets.profiles = {}', laboratory.keys(), "concurrency = 2")
        transport = HardOfHearing(laboratory.outside().transport)
        async with open_crawl(plan, structs.replace(laboratory.outside(), transport=transport)) as crawl:
            ending = await laboratory.run(crawl)
            noted = await errors(crawl)
            async with crawl.database.reading() as tx:
                states = {row["state"] for row in await tx.fetch("select distinct state from calls")}
                seen = await tx.fetch_one("select count(*) as n from users where handle is not null")
        assert ending.state == "finished"
        assert any("so it is started again" in words for part, words in noted if part == "calls")
        assert "flying" not in states
        assert seen is not None
        assert seen["n"] > 0

    in_laboratory(work)


def test_a_loop_that_rests_until_the_next_visit_or_is_paused_is_not_taken_for_stuck() -> None:
    async def work(laboratory: Laboratory) -> None:
        flow = 'flow.seeds = ["profiles"]\nflow.facets.profiles.revisit = "9h"'
        plan = laboratory.plan(flow, laboratory.keys(), 'stop.duration = "30h"')
        async with laboratory.crawl(plan) as crawl:
            running = asyncio.create_task(laboratory.run(crawl))
            await laboratory.clock.sleep_until(START + timedelta(hours=10))
            async with crawl.database.transaction() as tx:
                await tx.execute("update crawls set wanted = 'paused'")
            await laboratory.clock.sleep_until(START + timedelta(hours=15))
            async with crawl.database.transaction() as tx:
                await tx.execute("update crawls set wanted = 'running'")
            assert (await running).state == "finished"
            assert await errors(crawl) == []
            assert crawl.tally.calls >= 3

    in_laboratory(work)
