"""Which services of a crawl cost money, and what the next call costs there at least."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bowerbird.crawl.access.needed import channel_of
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.limits.budget import money_charges
from bowerbird.limits.rate_limits import call_charges
from bowerbird.model import Facet
from bowerbird.providers import provider
from bowerbird.providers.limit_overrides import thrifty_facet


def paid_services(plan: CrawlPlan) -> list[ServicePlan]:
    """Those of the crawl's services that cost money."""
    return [each for each in plan.services if any(f.is_paid for f in provider(each.service.provider).facets.values())]


def cheapest(plan: CrawlPlan, planned: ServicePlan, waiting: Collection[tuple[str, str]]) -> int | None:
    """The most that the cheapest thing may cost which a crawl has to ask of a service now, in thousandths of a dollar; None
    where it asks nothing there."""
    name, budget = planned.service.name, plan.budget_on(planned.service.name)
    facets = list(_asked(plan, planned, {facet for service, facet in waiting if service == name}))
    charged = [money_charges(call_charges(thrifty_facet(facet, budget.a_call), name, None)) for facet in facets]
    return min((sum(each.amount for each in charges) for charges in charged), default=None)


def _asked(plan: CrawlPlan, planned: ServicePlan, waiting: Collection[str]) -> Iterator[Facet]:
    """The facets with questions left, or all where everything sleeps until it is due; and what is listened to."""
    speaks = provider(planned.service.provider)
    used = [use.name for use in plan.flow.among(speaks.facets).facets]
    yield from (speaks.facets[name] for name in [each for each in used if each in waiting] or used)
    own = [each for each in plan.streams if each.service.name == planned.service.name]
    yield from (channel_of(each, speaks).facet for each in own)
