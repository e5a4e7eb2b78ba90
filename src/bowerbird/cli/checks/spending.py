"""What `bowerbird doctor` says of money: what a crawl file allows, what is spent of it, and whether somebody agreed to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from bowerbird.cli.checks.consent import agreed_to
from bowerbird.cli.checks.machine import OK, WARNING, Check
from bowerbird.cli.checks.start import exists
from bowerbird.cli.screens.amounts.money import month_words, spent_lines
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.tables import is_store
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.budget import BudgetStatus, budget_statuses
from bowerbird.limits.rate_limits import read_buckets
from bowerbird.planning.prices import in_a_sentence
from bowerbird.ports import Clock
from bowerbird.reports.consent import Wish, paid_services, wish_of
from bowerbird.reports.status.money import month_values, own_purse, spent_values

_NEARLY = 0.95


class Spending(Struct, frozen=True):
    """What a crawl file and its store say of money."""

    purses: tuple[BudgetStatus, ...]
    is_agreed: bool
    agreed: Wish | None
    """What somebody agreed to at an earlier start."""
    now: datetime

    def checks(self, plan: CrawlPlan) -> list[Check]:
        months = [each for each in self.purses if not each.is_crawl]
        found = [self._month(purse) for purse in months]
        own = own_purse(self.purses, plan.name)
        if own is not None and months:
            found.append(self._judged("money of the crawl", own, spent_lines([own], self.now)[0], "[stop]"))
        return found

    def _month(self, purse: BudgetStatus) -> Check:
        agreed = "" if self.is_agreed else f"; {self._consent()}"
        return self._judged(
            "money", purse, f"{month_words(purse, self.now)}, at {in_a_sentence()}{agreed}", "[service]"
        )  # fmt: skip

    def _consent(self) -> str:
        if self.agreed is None:
            return "nobody has agreed to it yet: the first start asks, or takes --yes"
        return f"so far somebody agreed to {self.agreed.words}: the next start asks, or takes --yes"

    def _judged(self, name: str, purse: BudgetStatus, found: str, where: str) -> Check:
        if purse.allowed is not None and purse.spent >= purse.allowed * _NEARLY:
            return Check(name, WARNING, found, f"hardly anything is left: raise dollars under {where} of the crawl file")
        return Check(name, OK, found)

    def values(self, plan: CrawlPlan) -> dict[str, Any]:
        return {**spent_values(self.purses, plan.name), "months": month_values(self.purses)}


async def read_spending(plan: CrawlPlan, clock: Clock | None = None) -> Spending:
    """The file's own budget, with what the store knows to be spent of it."""
    clock = clock or RealClock()
    known = await _known(plan, clock)
    wish, agreed = wish_of(plan), await agreed_to(plan, clock)
    stored = {(each.is_crawl, each.of): each for each in known}
    mine = [
        *(_allowed(stored, is_crawl=False, of=each.service.name, dollars=each.dollars) for each in paid_services(plan)),
        _allowed(stored, is_crawl=True, of=plan.name, dollars=plan.flow.stop.dollars),
    ]
    is_agreed = wish is None or (agreed is not None and wish.is_within(agreed))
    return Spending(tuple(mine), is_agreed, agreed, clock.now())


def _allowed(stored: dict[tuple[bool, str], BudgetStatus], *, is_crawl: bool, of: str, dollars: float | None) -> BudgetStatus:
    known = stored.get((is_crawl, of)) or BudgetStatus(of=of, is_crawl=is_crawl, spent=0.0, reserved=0.0, allowed=None)
    return structs.replace(known, allowed=dollars)


async def _known(plan: CrawlPlan, clock: Clock) -> tuple[BudgetStatus, ...]:
    if not exists(plan.store):
        return ()
    database = await open_database(plan.store, clock)
    try:
        if not await is_store(database, public(plan.store)):
            return ()
        async with database.reading() as tx:
            return budget_statuses(await read_buckets(tx), clock.now())
    finally:
        await database.close()
