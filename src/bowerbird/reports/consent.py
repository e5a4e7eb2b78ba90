"""What a crawl may spend, and what a user agreed to."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.model.money import in_dollars, thousandths
from bowerbird.ports import Transaction
from bowerbird.providers import provider

_READ = "select c.in_all, c.a_month from consents c join crawls k on k.crawl = c.crawl where k.name = ?"


class Wish(Struct, frozen=True):
    """What a crawl wants to spend, in thousandths of a dollar."""

    in_all: int | None
    a_month: int

    def is_within(self, agreed: Wish) -> bool:
        is_all_agreed = agreed.in_all is None or (self.in_all is not None and self.in_all <= agreed.in_all)
        return is_all_agreed and self.a_month <= agreed.a_month

    @property
    def words(self) -> str:
        in_all = "" if self.in_all is None else f", and to {in_dollars(self.in_all)} in all"
        return f"{in_dollars(self.a_month)} a month{in_all}"


def paid_services(plan: CrawlPlan) -> list[ServicePlan]:
    """The services of a crawl that cost money."""
    return [each for each in plan.services if any(f.is_paid for f in provider(each.service.provider).facets.values())]


def wish_of(plan: CrawlPlan) -> Wish | None:
    """None where the crawl cannot spend anything."""
    services, in_all = paid_services(plan), plan.flow.stop.dollars
    if not services:
        return None
    return Wish(None if in_all is None else thousandths(in_all), sum(thousandths(each.dollars) for each in services))


def may_spend(plan: CrawlPlan) -> str:
    """`it may spend $10.00 a month on api.x.com (dollars under [service]), and $5.00 in all (dollars under [stop])`."""
    parts = [
        f"{in_dollars(thousandths(each.dollars))} a month on {each.service.name} (dollars under [service])"
        for each in paid_services(plan)
    ]
    in_all = plan.flow.stop.dollars
    parts += [] if in_all is None else [f"{in_dollars(thousandths(in_all))} in all (dollars under [stop])"]
    return f"it may spend {', and '.join(parts)}"


async def read_agreed(tx: Transaction, crawl: str) -> Wish | None:
    row = await tx.fetch_one(_READ, crawl)
    return None if row is None else Wish(row["in_all"], row["a_month"])
