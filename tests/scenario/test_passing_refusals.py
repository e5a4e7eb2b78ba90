"""A firewall or a page about maintenance stands before a good server for a while: nothing is given up, closed or lost for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs
from still_world import SHORT, differences, in_trouble, plan_of

from bowerbird.app import open_crawl
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Answer, Request, Service
from bowerbird.ports import Clock, Transport

Change = Callable[[Answer], Answer]


class Interrupted:
    """Implements `ports.Transport`: from the ninth timeline on, for a minute, whatever is answered is changed."""

    def __init__(self, inner: Transport, clock: Clock, change: Change) -> None:
        self._inner = inner
        self._clock = clock
        self._change = change
        self._timelines = 0
        self.changed = 0

    async def send(self, service: Service, request: Request) -> Answer:
        answer = await self._inner.send(service, request)
        is_timeline = request.path.endswith("/statuses") and "/accounts/" in request.path
        self._timelines += is_timeline
        if self._timelines == 9 and is_timeline:
            self._until = self._clock.now() + timedelta(minutes=1)
        if self._timelines < 9 or self._clock.now() > self._until:
            return answer
        self.changed += 1
        return self._change(answer)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize(
    ("status", "headers"),
    [pytest.param(405, {}, marks=pytest.mark.long), (501, {}), (302, {"location": "https://maintenance.example/"})],
    ids=["405", "501", "302"],
)
def test_a_minute_of_refusals_costs_a_crawl_nothing(status: int, headers: dict[str, str], tmp_path: Path) -> None:
    def change(answer: Answer) -> Answer:
        return structs.replace(answer, status=status, headers=headers, body=b"<html>come back later</html>")

    async def work(laboratory: Laboratory) -> None:
        outside = laboratory.outside()
        transport = Interrupted(outside.transport, laboratory.clock, change)
        plan = plan_of(laboratory, SHORT, str(tmp_path / "crawl.db"))
        async with open_crawl(plan, structs.replace(outside, transport=transport)) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert (await differences(crawl.database, SHORT)).total == 0
        assert transport.changed > 0

    in_trouble(SHORT, work)
