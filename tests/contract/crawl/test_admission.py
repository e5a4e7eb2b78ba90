"""How many accounts a crawl asks about: known ones and seeds always, others while there is room, whatever was stored besides."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bowerbird.crawl.life import registry
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.lanes import Lane
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Placement, Service
from bowerbird.policies.registry import ranker
from bowerbird.ports import Database, Transaction
from bowerbird.providers import provider

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVICE = Service(name="here", provider="x", base="https://here.example")
FACETS = ("profiles", "followers", "posts")


class Crawl:
    """A crawl with two lanes of accounts and one of posts."""

    def __init__(self, database: Database, lanes: dict[int, Lane], numbers: dict[str, int]) -> None:
        self.database, self.lanes, self.numbers = database, lanes, numbers
        self.frontier = TaskFrontier(database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(minutes=1))

    async def let_in(self, limit: int | None, *arrivals: tuple[str, str], **fields: Any) -> list[str]:
        """A start of the crawl with this limit, and a page that adds these."""
        found = [Arrival(lane=self.numbers[facet], target=target, **{"depth": 1, **fields}) for facet, target in arrivals]
        async with self.database.transaction() as tx:
            admission = Admission(self.database, 1, self.lanes, limit)
            await admission.open(tx)
            return await self._add(tx, await admission.admitted(tx, found))

    async def _add(self, tx: Transaction, admitted: Any) -> list[str]:
        await self.frontier.add(tx, [(each, Placement(due=NOW)) for each in admitted], None, NOW)
        return [each.target for each in admitted]


@pytest.fixture
async def crawl(database: Database) -> Crawl:
    speaks = provider("x")
    async with database.transaction() as tx:
        number = await registry.enrol_service(tx, SERVICE, speaks.network)
        row = await registry.enrol_crawl(tx, "one", "{}", "{}", NOW)
        numbers = {name: await registry.enrol_lane(tx, row.crawl, number, name) for name in FACETS}
    lanes = {
        lane: Lane(lane=lane, service=SERVICE, provider=speaks, facet=speaks.facets[name], ranker=ranker("fifo"), seeder=None)  # type: ignore[arg-type]
        for name, lane in numbers.items()
    }
    return Crawl(database, lanes, numbers)


async def test_who_is_one_too_many_is_left_out_and_who_is_known_is_not(crawl: Crawl) -> None:
    page = [("profiles", str(number)) for number in range(5)]
    assert await crawl.let_in(3, *page) == ["0", "1", "2"]
    assert await crawl.let_in(3, *page, ("followers", "2"), ("followers", "4")) == ["0", "1", "2", "2"]
    assert await crawl.let_in(4, ("followers", "7"), ("profiles", "7"), ("followers", "8")) == ["7", "7"]


async def test_posts_do_not_count(crawl: Crawl) -> None:
    assert await crawl.let_in(1, ("posts", "1"), ("posts", "2"), ("profiles", "1"), ("profiles", "2")) == ["1", "2", "1"]


async def test_seeds_count_but_are_never_left_out(crawl: Crawl) -> None:
    assert await crawl.let_in(2, ("profiles", "1"), ("profiles", "2"), ("profiles", "3"), depth=0) == ["1", "2", "3"]
    assert await crawl.let_in(4, ("profiles", "8"), ("profiles", "9")) == ["8"]


async def test_an_account_counts_once_by_handle_and_by_key(crawl: Crawl) -> None:
    assert await crawl.let_in(2, ("profiles", "@ada")) == ["@ada"]
    assert await crawl.let_in(2, ("profiles", "55"), ("followers", "55"), is_asked=True) == ["55", "55"]
    assert await crawl.let_in(2, ("profiles", "56"), ("profiles", "57")) == ["56"]


async def test_a_limit_set_later_counts_those_who_are_there(crawl: Crawl) -> None:
    assert len(await crawl.let_in(1, ("profiles", "1"), ("profiles", "2"))) == 1
    await crawl.let_in(None, *(("profiles", str(number)) for number in range(2, 7)), ("followers", "3"), ("posts", "9"))
    assert await crawl.let_in(8, *(("followers", str(number)) for number in range(5, 12))) == ["5", "6", "7", "8"]


async def test_what_is_undone_is_not_counted(crawl: Crawl) -> None:
    await crawl.let_in(2)
    with suppress(ZeroDivisionError):
        async with crawl.database.transaction() as tx:
            admission = Admission(crawl.database, 1, crawl.lanes, 2)
            await admission.admitted(tx, [Arrival(lane=crawl.numbers["profiles"], target="1", depth=1)])
            raise ZeroDivisionError
    assert await crawl.let_in(2, ("profiles", "2"), ("profiles", "3"), ("profiles", "4")) == ["2", "3"]


async def test_workers_that_bring_the_same_accounts_at_once_count_them_once(crawl: Crawl) -> None:
    page = [("profiles", str(number)) for number in range(5)]
    await asyncio.gather(*(crawl.let_in(8, *page) for _ in range(4)))
    assert await crawl.let_in(8, *(("followers", str(number)) for number in range(20, 30))) == ["20", "21", "22"]
