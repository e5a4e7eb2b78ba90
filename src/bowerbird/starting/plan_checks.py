"""What can be said of a crawl before it is started, from its plan and the vault alone: nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bowerbird.crawl.access.credentials import names_in, usable_credentials
from bowerbird.crawl.access.how_to_add import best_kinds, how_to_add
from bowerbird.crawl.access.needed import channel_of
from bowerbird.crawl.seeding.meaning import UnusableSeeds
from bowerbird.errors import CredentialError, Failure
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.model.money import in_dollars
from bowerbird.ports import Vault
from bowerbird.providers import provider
from bowerbird.starting.seeds import seed_meanings


def wanted_kinds(plan: CrawlPlan, planned: ServicePlan) -> list[str]:
    """The kinds of credential for a service of a crawl: first those that open its streams, and may ask most of it."""
    speaks = provider(planned.service.provider)
    kinds = best_kinds(speaks.tables, speaks.name, [use.name for use in plan.flow.facets])
    own = [each for each in plan.streams if each.service.name == planned.service.name]
    opening = [takes for each in own if (takes := channel_of(each, speaks).kinds)]
    return sorted(kinds, key=lambda kind: -sum(kind in takes for takes in opening))


def sorted_seeds(plan: CrawlPlan, lost: Mapping[str, Mapping[str, Failure]]) -> UnusableSeeds:
    """What is wrong with the seeds that are written down: those that nobody understands, and those that nobody may ask about."""
    unusable = UnusableSeeds()
    for _ in seed_meanings(plan, lost).sort(plan.seeds.located(), unusable):
        pass
    return unusable


def check_credentials(plan: CrawlPlan, planned: ServicePlan, vault: Vault) -> None:
    """Raises `CredentialError` where a service answers nobody without one, and the vault has none that belongs to it."""
    service = planned.service
    needs_one = "none" not in provider(service.provider).tables
    if not usable_credentials(planned, vault) and needs_one:
        raise CredentialError(
            f"{service.name} answers nobody without a credential, and the vault has none for {service.provider} that belongs to "
            f"{service.base}",
            how_to_add(service, wanted_kinds(plan, planned), names_in(vault)),
            code="needs_credential",
        )


def left_out(plan: CrawlPlan) -> Iterator[str]:
    """What the flow would ask and a network of the crawl does not have."""
    for planned in plan.services:
        facets = provider(planned.service.provider).facets
        # One more way to ask for the same seeds that a network does not need is nobody's loss.
        ends = {name for edge in plan.flow.edges for name in (edge.source, edge.to)}
        if missing := [name for name in plan.flow.lacking(facets) if name in ends]:
            yield f"{planned.service.name} cannot be asked for {' and '.join(missing)}: the crawl goes on there without."
        yield from _spared(plan, planned)


def _spared(plan: CrawlPlan, planned: ServicePlan) -> Iterator[str]:
    """What the flow would ask and costs too much to be asked by default."""
    facets = provider(planned.service.provider).facets
    if names := plan.flow.spared(facets):
        prices = [limit.per_result for name in names for limit in facets[name].limits if limit.is_money]
        are, them = ("are", "them") if len(names) > 1 else ("is", "it")
        yield (
            f"{' and '.join(names)} {are} left out on {planned.service.name}: each account listed costs "
            f'{in_dollars(max(prices))}. Switch {them} on in the crawl file: use = "{plan.flow.name}" under [flow], and '
            f"on = true under [flow.facets.{names[0]}]."
        )
