"""What the ledgers book on X is what X bills, each thing once per UTC day, and nobody spends more than the user allowed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.budget import budget_statuses
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.tags import tag_name
from bowerbird.simulated.x_v2 import XV2Dialect

EVENING = datetime(2026, 1, 5, 22, tzinfo=UTC)
WORLD = WorldSettings(accounts=60, start=EVENING, history=timedelta(days=2), longest_history=40, following=5.0)
_BOOKED = "select sum(spent) as spent from ledgers where bucket = 'simulated/money'"
_AT_EACH_SIGHT = "select sum(results * case facet when 'timeline' then 5 else 10 end) as spent from calls"


async def money(clock: VirtualClock, flow: str, accounts: int) -> tuple[int, int, int]:
    """What was booked, what was billed, and what it would be without a rule of days."""
    laboratory = Laboratory(Setup(dialect="x", world=WORLD), clock)
    async with laboratory.crawl(laboratory.plan(flow, laboratory.keys(accounts))) as crawl:
        await laboratory.run(crawl)
        async with crawl.database.reading() as tx:
            booked, seen = (await tx.fetch(_BOOKED))[0]["spent"], (await tx.fetch(_AT_EACH_SIGHT))[0]["spent"]
    dialect = laboratory.service.dialect
    assert isinstance(dialect, XV2Dialect)
    apps = {token.app for token in laboratory.service.tokens}
    return int(booked), sum(dialect.meter.spent(app, clock.now()) for app in apps), int(seen)


@pytest.mark.parametrize(
    ("flow", "accounts"),
    [
        ('flow = "timelines"\nstop.duration = "4h"', 40),
        ('flow = "graph"\nfilters.max_depth = 1', 20),
    ],
    ids=["timelines", "graph"],
)
def test_ledgers_book_what_the_service_bills(flow: str, accounts: int) -> None:
    booked, billed, seen = run_virtual(lambda clock: money(clock, flow, accounts), start=WORLD.start)
    assert billed > 0
    # A look-up that is out at midnight is booked as if nothing were paid.
    assert billed <= booked <= billed + 10 * accounts
    if "timelines" in flow:
        assert booked < seen / 4


BUDGET = 2.0
LIVELY = WorldSettings(accounts=300, start=EVENING, history=timedelta(days=3), longest_history=60, posts_per_day=40.0)
RULES = " OR ".join(f"#{tag_name(number)}" for number in range(20))
LISTEN = f'flow = "listen"\n[[streams]]\nchannel = "filter"\nrules = ["{RULES}"]\n'


def laboratory_on_x(clock: VirtualClock) -> Laboratory:
    laboratory = Laboratory(Setup(dialect="x", world=structs.replace(LIVELY, start=clock.now()), tokens=2), clock)
    laboratory.service.tokens.issue("app", account="mine", app="mine")
    return laboratory


def billed(laboratory: Laboratory, clock: VirtualClock) -> float:
    """Dollars on the service's own meter, this month."""
    dialect = laboratory.service.dialect
    assert isinstance(dialect, XV2Dialect)
    return sum(dialect.meter.spent(app, clock.now()) for app in {token.app for token in laboratory.service.tokens}) / 1000


def parsed(laboratory: Laboratory, text: str, seeds: int, store: str = ":memory:", service: str = "") -> CrawlPlan:
    plan = laboratory.plan(text.partition("[[")[0], laboratory.keys(seeds), tables(text), store=store)
    return structs.replace(plan, services=(structs.replace(plan.services[0], dollars=float(service or 10)),))


def tables(text: str) -> str:
    return text[text.index("[[") :] if "[[" in text else ""


def reserved(crawl: Crawl, clock: VirtualClock) -> float:
    return sum(purse.reserved for purse in budget_statuses(crawl.ledgers.buckets().values(), clock.now()))


@pytest.mark.parametrize(
    ("flow", "seeds"),
    [
        ('flow = "timelines"', 60),
        ('flow = "graph"', 8),
        ('flow = "sample"', 4),
        pytest.param('flow = "robots"', 8, marks=pytest.mark.long),
        pytest.param(LISTEN, 0, marks=pytest.mark.long),
    ],
    ids=["timelines", "graph", "sample", "robots", "listen"],
)
def test_a_crawl_spends_no_more_than_it_may_and_ends_when_that_is_spent(flow: str, seeds: int) -> None:
    async def main(clock: VirtualClock) -> tuple[float, float, Ending]:
        laboratory = laboratory_on_x(clock)
        plan = parsed(laboratory, f"stop.dollars = {BUDGET}\nstop.duration = '20d'\n{flow}", seeds)
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            return billed(laboratory, clock), reserved(crawl, clock), ending

    bill, left_reserved, ending = run_virtual(main, start=EVENING)
    assert 0.8 * BUDGET < bill <= BUDGET
    assert left_reserved == 0
    assert ending.state == "finished"
    assert ending.reason.code == "budget_spent"
    assert f"${BUDGET:.2f}" in ending.reason.problem


def test_the_budget_of_a_month_holds_over_all_crawls_and_credentials_of_a_store_and_comes_again(
    tmp_path: Path,
) -> None:
    async def main(clock: VirtualClock) -> list[float]:
        laboratory, bills = laboratory_on_x(clock), []
        for name, days in (("one", 1), ("two", 1), ("three", 1)):
            plan = parsed(laboratory, f'flow = "timelines"\nstop.duration = "{days}d"', 60, str(tmp_path / "x.db"), "1.5")
            async with laboratory.crawl(structs.replace(plan, name=name)) as crawl:
                await laboratory.run(crawl)
            bills.append(billed(laboratory, clock))
        return bills

    first, second, february = run_virtual(main, start=datetime(2026, 1, 30, 2, tzinfo=UTC))
    assert 1.2 < first <= second <= 1.5
    assert 1.2 < february <= 1.5


def test_what_a_killed_worker_may_have_spent_is_spent_and_the_rest_is_all_that_the_next_one_has(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> tuple[float, float]:
        laboratory, before = laboratory_on_x(clock), 0.0
        for life in range(2):
            plan = parsed(laboratory, f'stop.dollars = {BUDGET}\nflow = "timelines"', 60, str(tmp_path / "x.db"))
            async with laboratory.crawl(plan) as crawl:
                running = asyncio.create_task(laboratory.run(crawl))
                if life:
                    await running
                    continue
                while billed(laboratory, clock) < BUDGET / 4 or not reserved(crawl, clock):
                    await clock.sleep_until(clock.now() + timedelta(milliseconds=1))
                await kill()
                before = billed(laboratory, clock)
        return before, billed(laboratory, clock)

    before, after = run_virtual(main, start=EVENING)
    assert BUDGET / 4 <= before <= after <= BUDGET


async def kill() -> None:
    """Ends everything but this test, as the end of a process does: nobody settles anything any more."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def test_several_workers_together_spend_no_more_than_one_may(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> float:
        laboratory, store = laboratory_on_x(clock), str(tmp_path / "x.db")
        plan = parsed(laboratory, f'stop.dollars = {BUDGET}\nstop.duration = "1d"\nflow = "timelines"', 60, store)
        async with laboratory.crawl(plan) as one, laboratory.crawl(plan) as other:
            await asyncio.gather(laboratory.run(one), laboratory.run(other))
        return billed(laboratory, clock)

    # Of two in one process each takes the other for dead, and what that had under way for spent.
    assert 0.5 * BUDGET < run_virtual(main, start=EVENING) <= BUDGET


def test_more_may_be_spent_when_the_user_says_so(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> list[float]:
        laboratory, bills = laboratory_on_x(clock), []
        for dollars in (1.0, 2.0):
            plan = parsed(laboratory, f'stop.dollars = {dollars}\nflow = "timelines"', 60, str(tmp_path / "x.db"))
            async with laboratory.crawl(plan) as crawl:
                await laboratory.run(crawl)
            bills.append(billed(laboratory, clock))
        return bills

    first, second = run_virtual(main, start=EVENING)
    assert 0.8 < first <= 1.0 < second <= 2.0
