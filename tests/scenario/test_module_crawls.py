"""Modules inside a crawl in virtual time: they find whom to ask next, and the crawl does not end before they have looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from bowerbird.app import open_crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import CrawlState
from bowerbird.ports import Database
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(seed=3, accounts=150, following=8.0, posts_per_day=6, history=timedelta(days=2), longest_history=20)
FLOW = """
flow.name = "names"
flow.seeds = ["profiles"]
flow.facets.profiles = {}
flow.facets.timeline = {}
flow.edges = [{ from = "profiles", to = "timeline", take = "asked" }]
"""
MODULES = """
modules.mentions.every = "1h"
modules.validity.every = "1h"
modules.growth.every = "10m"
"""


async def numbers(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


def test_a_crawl_goes_on_with_whom_its_modules_find_and_ends_when_they_find_nobody() -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="bluesky", world=WORLD), clock)
        plan = laboratory.plan(FLOW, laboratory.keys(12), MODULES)
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == CrawlState.FINISHED
            database = crawl.database
            named = await numbers(database, "select count(*) from candidates where source = 'mentions'")
            assert named[0] > 5
            assert await numbers(database, "select count(*) from candidates where state = 'named'") == [0]
            # Those who can be read were looked up, and the flow went on with them.
            valid = "select u.id from candidates c join users u on u.user_no = c.user_no where c.state = 'valid' and u.posts > 0"
            asked = "select t.target from tasks t join lanes l on l.lane = t.lane where l.facet = 'timeline' and t.visits > 0"
            assert set(await numbers(database, valid)) <= set(await numbers(database, asked))
            assert await numbers(database, "select count(*) from module_runs where error is not null") == [0]
            assert (await numbers(database, "select count(*) from module_runs where module = 'growth'"))[0] >= 1

    run_virtual(main, start=START)


class Heard:
    """A messenger that remembers; implements `ports.Messenger`."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def run(self, command: Sequence[str], message: str) -> None:
        self.messages.append(message)

    async def post(self, url: str, values: Mapping[str, Any]) -> None: ...

    async def mail(self, server: str, to: Sequence[str], subject: str, message: str) -> None: ...


def test_the_end_of_a_crawl_is_told() -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory, heard = Laboratory(Setup(dialect="bluesky", world=WORLD), clock), Heard()
        plan = laboratory.plan(FLOW, laboratory.keys(3), 'modules.notification.command = ["tell"]')
        async with open_crawl(plan, structs.replace(laboratory.outside(), messenger=heard)) as crawl:
            await laboratory.run(crawl)
        (message,) = heard.messages
        assert message.splitlines() == [
            "bowerbird: laboratory: the crawl is over, finished: nothing is left to ask",
            "- the crawl is over, finished: nothing is left to ask",
        ]

    run_virtual(main, start=START)


def test_a_module_that_always_fails_neither_ends_nor_holds_a_crawl() -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="bluesky", world=WORLD), clock)
        # Nobody judges by that name.
        plan = laboratory.plan(FLOW, laboratory.keys(5), 'modules.profiles.judge = "nobody"')
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            assert (ending.state, crawl.tally.size().posts > 0) == (CrawlState.FINISHED, True)
            errors = await numbers(crawl.database, "select distinct error from module_runs")
            assert errors == ["nobody judges 'nobody' in this crawl; name another judge with `judge`, or switch the module off"]

    run_virtual(main, start=START)
