"""Which kind of credential a crawl needs."""

from __future__ import annotations

from bowerbird.crawl.access.how_to_add import best_kinds
from bowerbird.crawl.access.needed import channel_of
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.providers import provider


def wanted_kinds(plan: CrawlPlan, planned: ServicePlan) -> list[str]:
    """The kinds of credential for a service of a crawl: first those that open its streams, and may ask most of it."""
    speaks = provider(planned.service.provider)
    kinds = best_kinds(speaks.tables, speaks.name, [use.name for use in plan.flow.facets])
    own = [each for each in plan.streams if each.service.name == planned.service.name]
    opening = [takes for each in own if (takes := channel_of(each, speaks).kinds)]
    return sorted(kinds, key=lambda kind: -sum(kind in takes for takes in opening))
