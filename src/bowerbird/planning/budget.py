"""What the crawl of a file may spend, and how many items that can bring: a plan ends where its budget does."""

from __future__ import annotations

from math import inf

from msgspec import Struct, structs

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model.money import in_dollars, thousandths
from bowerbird.providers import provider
from bowerbird.reports.consent import paid_services

_PLENTY = 1e8
"""So much that it never ends a rehearsal."""
MONEY = "money"
"""What a plan calls the limit that is the user's own budget."""


class Means(Struct, frozen=True):
    """The tightest budget of a crawl."""

    dollars: float
    is_monthly: bool
    """Of the calendar month, as against the crawl's whole life."""

    @property
    def words(self) -> str:
        """Why a crawl ends that has spent it."""
        allowed = in_dollars(thousandths(self.dollars))
        if self.is_monthly:
            return f"the {allowed} that may be spent in a month are used up, and it waits for the next"
        return f"the {allowed} that it may spend in all are used up"


def means_of(plan: CrawlPlan) -> Means | None:
    """None where nothing costs anything."""
    services = paid_services(plan)
    if not services:
        return None
    in_all, a_month = plan.flow.stop.dollars, sum(each.dollars for each in services)
    return Means(a_month, is_monthly=True) if in_all is None or a_month < in_all else Means(in_all, is_monthly=False)


def most_items(plan: CrawlPlan) -> float:
    """How many items the budget can pay for at most."""
    means = means_of(plan)
    if means is None:
        return inf
    tables = [provider(each.service.provider).facets for each in paid_services(plan)]
    limits = [limit for table in tables for use in plan.flow.facets if use.name in table for limit in table[use.name].limits]
    prices = [limit.per_result for limit in limits if limit.is_money and limit.per_result]
    return thousandths(means.dollars) / min(prices) if prices else inf


def with_means(plan: CrawlPlan, factor: float) -> CrawlPlan:
    """The plan with so much of its budget as one for its whole life, so that a rehearsal ends when it is spent."""
    means = means_of(plan)
    if means is None:
        return plan
    services = tuple(structs.replace(each, dollars=_PLENTY) for each in plan.services)
    stop = structs.replace(plan.flow.stop, dollars=means.dollars * factor)
    return structs.replace(plan, services=services, flow=structs.replace(plan.flow, stop=stop))
