"""A crawl in front of a view: what is shown while its own database refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec import structs
from still_world import MASTODON, START, in_laboratory

from bowerbird.cli.live.run import run_shown
from bowerbird.errors import Busy
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.reports.status.glimpse import Glimpse
from bowerbird.simulated.faults import Faults

AWAY, BACK, ENOUGH = (START + timedelta(seconds=seconds) for seconds in (10, 20, 30))
REFUSAL = "PostgreSQL did not answer"


class AwayForAWhile:
    """A database whose readers are refused for some seconds."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.dialect = database.dialect

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        if AWAY <= self._clock.now() < BACK:
            raise Busy(REFUSAL)
        async with self._database.reading() as tx:
            yield tx


class Remembering:
    """A view that keeps what it is shown."""

    every = timedelta(milliseconds=500)

    def __init__(self) -> None:
        self.shown: list[Glimpse] = []
        self.said: list[str] = []

    def show(self, glimpse: Glimpse) -> None:
        self.shown.append(glimpse)

    def say(self, words: str) -> None:
        self.said.append(words)

    def close(self) -> None:
        """Nothing."""

    def doing(self, since: datetime, until: datetime) -> set[bool]:
        """Whether it was said, in that time, that the crawl waits for its database."""
        return {REFUSAL in each.doing for each in self.shown if since <= each.now < until}


def test_a_service_that_does_not_answer_is_named_and_not_said_to_be_called() -> None:
    view = Remembering()

    def enough(glimpse: Glimpse) -> str:
        return "seen enough" if glimpse.now >= ENOUGH else ""

    async def work(laboratory: Laboratory) -> str:
        plan = laboratory.plan('flow.use = "timelines"', laboratory.keys(3))
        async with laboratory.crawl(plan) as crawl:
            await run_shown(crawl, laboratory.outside(), view, enough=enough)
        return plan.services[0].service.name

    service = in_laboratory(MASTODON, work, Faults(rates={"unavailable": 1.0}))
    shown = [each for each in view.shown if each.now >= AWAY]
    assert shown
    assert all(each.is_down for each in shown), shown
    assert all(service in each.doing for each in shown), shown


def test_a_crawl_that_goes_on_is_not_first_shown_as_stopped(tmp_path: Path) -> None:
    views = [Remembering(), Remembering()]

    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow.use = "timelines"', laboratory.keys(3), store=str(tmp_path / "a.db"))
        for view in views:
            until = laboratory.clock.now() + timedelta(seconds=5)
            async with laboratory.crawl(plan) as crawl:
                enough = partial(_until, until)
                await run_shown(crawl, laboratory.outside(), view, enough=enough)

    in_laboratory(MASTODON, work)
    assert {each.state for each in views[1].shown[:-1]} <= {"starting", "running"}


def _until(when: datetime, glimpse: Glimpse) -> str:
    return "seen enough" if glimpse.now >= when else ""


def test_a_database_that_is_away_for_a_while_does_not_end_the_display() -> None:
    view = Remembering()

    def enough(glimpse: Glimpse) -> str:
        return "seen enough" if glimpse.now >= ENOUGH else ""

    async def work(laboratory: Laboratory) -> str:
        plan = laboratory.plan('flow.use = "timelines"\nflow.facets.timeline.revisit = "1h"', laboratory.keys(3))
        async with laboratory.crawl(plan) as crawl:
            watched = structs.replace(crawl, database=AwayForAWhile(crawl.database, laboratory.clock))
            return (await run_shown(watched, laboratory.outside(), view, enough=enough)).ending.reason.problem

    assert in_laboratory(MASTODON, work) == "seen enough"
    second = timedelta(seconds=1)
    assert view.doing(START, AWAY) == {False}
    assert view.doing(AWAY + 2 * second, BACK) == {True}
    assert view.doing(BACK + 2 * second, ENOUGH) == {False}
    assert view.said == []
