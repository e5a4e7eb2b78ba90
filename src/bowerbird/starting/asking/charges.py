"""What calls take from the limits of a service and from the user's budget."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.crawl.access.credentials import names_in
from bowerbird.crawl.access.how_to_add import wrong_kind
from bowerbird.crawl.work.lanes import Lane
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.budget import budget_charges
from bowerbird.limits.rate_limits import call_charges
from bowerbird.model import Charge, Credential, Facet, Service
from bowerbird.ports import Vault
from bowerbird.providers.base import Provider
from bowerbird.providers.limit_overrides import thrifty_facet

Options = Mapping[str | None, tuple[Charge, ...]]
"""By credential: what one call takes from which bucket."""


def paid(facet: Facet, service: Service, credential: Credential | None, plan: CrawlPlan) -> tuple[Charge, ...]:
    """What one call takes from the buckets of the service and, where it costs anything, from the user's purses."""
    budget = plan.budget_on(service.name)
    return budget_charges(facet.name, call_charges(thrifty_facet(facet, budget.a_call), service.name, credential), budget)


def charges_of(lane: Lane, speaks: Provider, credentials: tuple[Credential, ...], plan: CrawlPlan, vault: Vault) -> Options:
    """What one call takes with each credential that may ask this facet at all."""
    name = lane.facet.name
    holders: tuple[Credential | None, ...] = credentials or (None,)
    tables = {each: speaks.facets_for(each.kind if each else "none") for each in holders}
    charges = {
        (each.name if each else None): paid(table[name], lane.service, each, plan)
        for each, table in tables.items()
        if name in table
    }
    if not charges:
        kinds = [kind for kind in speaks.tables if name in speaks.tables[kind]]
        raise wrong_kind(lane.service, f"{name} can only be asked", kinds, names_in(vault))
    return charges
