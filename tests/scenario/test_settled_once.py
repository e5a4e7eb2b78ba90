"""What one answer means, it means once: however often our own database makes its settle wait, and whatever else was in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from still_world import SHORT, START, column, differences, in_trouble, plan_of

from bowerbird.app import Outside, open_crawl
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.evaluate.laboratory import Laboratory, TokenVault
from bowerbird.model import Answer, Request, Service
from bowerbird.ports import Clock, Transport

LONG = timedelta(seconds=70)
"""Our own database is waited for half a minute at a time."""


class Busying:
    """Gives one call another answer, and holds our own database while that is settled."""

    def __init__(self, transport: Transport, clock: Clock, store: str, change: Callable[[Answer], Answer]) -> None:
        self._transport = transport
        self._clock = clock
        self._store = store
        self._change = change
        self._calls = 0
        self._release: asyncio.Task[None] | None = None

    async def send(self, service: Service, request: Request) -> Answer:
        answer = await self._transport.send(service, request)
        self._calls += 1
        if self._calls != 5:
            return answer
        holder = sqlite_module().connect(self._store, isolation_level=None)
        holder.execute("begin immediate")
        self._release = asyncio.create_task(self._let_go(holder))
        return self._change(answer)

    async def _let_go(self, holder: Any) -> None:
        await self._clock.sleep_until(self._clock.now() + LONG)
        holder.rollback()
        holder.close()

    async def close(self) -> None:
        await self._transport.close()


@pytest.mark.parametrize("status", [401, 503])
def test_an_answer_whose_settle_is_tried_three_times_counts_once(status: int, tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")

    async def work(laboratory: Laboratory) -> None:
        def change(answer: Answer) -> Answer:
            return structs.replace(answer, status=status, body=b'{"error": "The access token is invalid"}')

        outside = laboratory.outside()
        busying = Busying(outside.transport, laboratory.clock, store, change)
        plan = structs.replace(plan_of(laboratory, SHORT, store), concurrency=1)
        async with open_crawl(plan, structs.replace(outside, transport=busying)) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert laboratory.clock.now() > START + LONG
            assert await column(crawl.database, "select count(*) from outages") == [0]
            assert await column(crawl.database, "select count(*) from credentials") == [0]
            outcome = {401: "bad_token", 503: "overloaded"}[status]
            assert await column(crawl.database, f"select count(*) from errors where outcome = '{outcome}'") == [1]
            assert (await differences(crawl.database, SHORT)).total == 0

    in_trouble(SHORT, work)


class Throttling:
    """Refuses everything that is sent within a time, with `Retry-After` alone."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._in_flight = 0
        self.began_at = START + timedelta(seconds=1)
        self.wait = timedelta(seconds=30)
        self.refused = 0
        self.in_flight = 0
        """When the first refusal came back."""

    async def send(self, service: Service, request: Request) -> Answer:
        now = self._clock.now()
        is_refused = self.began_at <= now < self.began_at + self.wait
        self._in_flight += 1
        answer = await self._transport.send(service, request)
        if is_refused:
            self.refused += 1
            self.in_flight = self.in_flight or self._in_flight
            answer = structs.replace(answer, status=429, headers={"retry-after": "30"}, body=b'{"error": "Too many requests"}')
        self._in_flight -= 1
        return answer

    async def close(self) -> None:
        await self._transport.close()


def test_refusals_with_a_wait_are_no_more_than_the_calls_in_flight() -> None:
    async def work(laboratory: Laboratory) -> None:
        outside = laboratory.outside()
        throttling = Throttling(outside.transport, laboratory.clock)
        vault = TokenVault(SHORT.dialect, list(laboratory.service.tokens)[:1])
        outside: Outside = structs.replace(outside, transport=throttling, vault=vault)
        async with open_crawl(plan_of(laboratory, SHORT), outside) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
        assert throttling.in_flight > 1
        assert throttling.refused <= throttling.in_flight

    in_trouble(SHORT, work)
