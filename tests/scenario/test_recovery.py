"""What dead, stopped and broken processes leave behind is found in the rows themselves, however old it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs
from still_world import SHORT, START, column, differences, in_trouble, plan_of

from bowerbird.app import Crawl, open_crawl, open_store
from bowerbird.clock import to_micros
from bowerbird.crawl.life import registry
from bowerbird.crawl.work.bookkeeping import encode_charges
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Answer, CrawlState, Request, Service
from bowerbird.ports import Transport
from marks import long_on_postgresql


@pytest.fixture
def store(database_url: str, tmp_path: Path) -> str:
    """Where a crawl may be left and gone on with."""
    return str(tmp_path / "crawl.db") if database_url == ":memory:" else database_url


LONG_AGO = to_micros(START - timedelta(days=30))
PHANTOM = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at)
values (1, 1, 'profiles', ?, 'flying', ?, 1, 'somebody', ?, ?)
"""


class Changing:
    """A transport whose answers are changed on the way."""

    def __init__(self, transport: Transport, change: Callable[[Answer], Answer]) -> None:
        self._transport = transport
        self._change = change

    async def send(self, service: Service, request: Request) -> Answer:
        return self._change(await self._transport.send(service, request))

    async def close(self) -> None:
        await self._transport.close()


async def begun(laboratory: Laboratory, store: str) -> None:
    """A crawl that was stopped in order after a few calls."""
    plan = plan_of(laboratory, SHORT, store)
    stop = structs.replace(plan.flow.stop, calls=10)
    async with laboratory.crawl(structs.replace(plan, flow=structs.replace(plan.flow, stop=stop))) as crawl:
        await laboratory.run(crawl)


async def gone_on(laboratory: Laboratory, store: str) -> list[Any]:
    """Runs it to its end, which nothing may keep it from; answers what was noted."""
    async with laboratory.crawl(plan_of(laboratory, SHORT, store)) as crawl:
        async with asyncio.timeout(timedelta(hours=3).total_seconds()):
            assert (await laboratory.run(crawl)).state == "finished"
        found = await differences(crawl.database, SHORT)
        assert found.total == 0, found.examples
        assert laboratory.service.audit()["over_limit"] == 0
        return await column(crawl.database, "select message from errors order by error")


def test_a_call_of_a_worker_that_ended_long_ago_is_lost_and_holds_nothing_back(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        await begun(laboratory, store)
        async with laboratory.crawl(plan_of(laboratory, SHORT, store)) as crawl:
            charges = next(iter(next(iter(crawl.charges.values())).values()))
            async with crawl.database.transaction() as tx:
                ended = await registry.enrol_worker(tx, "crash", START)
                await tx.execute("update workers set seen_at = ?, ended_at = ? where worker = ?", LONG_AGO, LONG_AGO, ended)
                never = to_micros(START + timedelta(days=300))
                await tx.execute(PHANTOM, ended, encode_charges(charges), LONG_AGO, never)
                for charge in charges:
                    await tx.execute("update ledgers set in_flight = ?, version = version + 1 where bucket = ?", 1, charge.bucket)
        assert await gone_on(laboratory, store) == []

    in_trouble(SHORT, work)


@long_on_postgresql
def test_an_account_that_waits_for_a_call_nobody_makes_is_named_and_freed(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        await begun(laboratory, store)
        async with open_store(store, laboratory.clock) as database, database.transaction() as tx:
            await tx.execute("update ledgers set in_flight = 1, probing = 1, version = version + 1")
        noted = await gone_on(laboratory, store)
        assert noted
        assert all("waited for calls that nobody makes any more: 1 booked as spent" in message for message in noted)

    in_trouble(SHORT, work)


@long_on_postgresql
def test_a_call_whose_lease_ran_out_is_lost_while_its_own_worker_lives(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan_of(laboratory, SHORT, store)) as crawl:
            me = (await column(crawl.database, "select max(worker) from workers"))[0]
            async with crawl.database.transaction() as tx:
                await tx.execute(PHANTOM, me, "what is this", LONG_AGO, LONG_AGO)
            await laboratory.run(crawl)
            assert await column(crawl.database, "select count(*) from calls where state = 'flying'") == [0]
            assert await column(crawl.database, "select outcome from calls where targets = 'somebody'") == ["lost"]

    in_trouble(SHORT, work)


@long_on_postgresql
def test_a_worker_that_was_taken_for_dead_enrols_anew_and_loses_nothing(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan_of(laboratory, SHORT, store)) as crawl:
            running = asyncio.create_task(laboratory.run(crawl))
            await laboratory.clock.sleep_until(START + timedelta(milliseconds=300))
            async with crawl.database.transaction() as tx:
                await tx.execute("update workers set ended_at = ?", to_micros(laboratory.clock.now()))
            async with asyncio.timeout(timedelta(hours=3).total_seconds()):
                assert (await running).state == "finished"
            found = await differences(crawl.database, SHORT)
            assert found.total == 0, found.examples
            assert await column(crawl.database, "select count(*) from workers where ended_at is not null") == [2]
            (noted,) = await column(crawl.database, "select message from errors where part = 'worker'")
            assert "goes on as a new worker" in noted
            calls = await column(crawl.database, "select count(*) from calls where worker = 2 and state = 'settled'")
            assert calls[0] > 10

    in_trouble(SHORT, work)


def crawled(change: Callable[[Answer], Answer], database_url: str, judge: Callable[[Crawl], Any]) -> None:
    async def work(laboratory: Laboratory) -> None:
        outside = laboratory.outside()
        outside = structs.replace(outside, transport=Changing(outside.transport, change))
        async with open_crawl(plan_of(laboratory, SHORT, database_url), outside) as crawl:
            async with asyncio.timeout(timedelta(hours=3).total_seconds()):
                assert (await laboratory.run(crawl)).state == "finished"
            await judge(crawl)

    in_trouble(SHORT, work)


def test_a_server_whose_clock_says_the_last_second_of_time_is_crawled_like_any_other(database_url: str) -> None:
    def lie(answer: Answer) -> Answer:
        return structs.replace(answer, headers=answer.headers | {"date": "Fri, 31 Dec 9999 23:59:59 GMT"})

    async def judge(crawl: Crawl) -> None:
        assert (await differences(crawl.database, SHORT)).total == 0

    crawled(lie, database_url, judge)


def test_an_id_too_long_for_an_index_costs_its_item_alone(database_url: str) -> None:
    def lengthen(answer: Answer) -> Answer:
        try:
            body = msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            return answer
        if isinstance(body, list) and len(body) > 3 and "acct" in body[-1]:
            stranger = body[-1] | {"id": "9" * 6_000, "uri": "https://long.example/" + "9" * 6_000}
            return structs.replace(answer, body=msgspec.json.encode([*body, stranger]))
        return answer

    async def judge(crawl: Crawl) -> None:
        assert await column(crawl.database, "select count(*) from calls where outcome = 'fault'") == [0]
        assert (await column(crawl.database, "select count(*) from quarantine"))[0] > 0
        found = await differences(crawl.database, SHORT)
        # The pages are longer by what was put aside.
        assert set(found.examples) <= {"extra: quarantine", "lost: pages", "extra: pages"}, found.examples

    crawled(lengthen, database_url, judge)


@long_on_postgresql
def test_a_stop_given_while_a_process_starts_is_heard_and_the_next_start_goes_on(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = plan_of(laboratory, SHORT, store)
        async with open_crawl(plan, laboratory.outside()) as crawl:
            async with crawl.database.transaction() as tx:
                await registry.set_wanted(tx, 1, CrawlState.STOPPED, laboratory.clock.now())
            ending = await laboratory.run(crawl)
        assert (ending.state, ending.reason.code) == ("stopped", "stopped")
        async with open_crawl(plan, laboratory.outside()) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"

    in_trouble(SHORT, work)
