"""The lanes of a service: what is asked there, who is next, and what each answer leads to."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from bowerbird.crawl.access.credentials import own_credentials
from bowerbird.crawl.answers.long_lists import LongLists
from bowerbird.crawl.seeding.homes import host_of
from bowerbird.crawl.seeding.seeder import HeardSeeder
from bowerbird.crawl.seeding.starts import starts
from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.flow import FacetUse, Flow
from bowerbird.keywords.probes import Searches
from bowerbird.keywords.values import PROBE_POSTS
from bowerbird.policies.focus import Focus
from bowerbird.policies.registry import WALKS, RankerSetting, is_batched_lookup, ranker
from bowerbird.ports import Neighbourhood, Ranker
from bowerbird.providers.base import Provider
from bowerbird.reports.studies.walks import stored_links
from bowerbird.starting.asking.charges import charges_of
from bowerbird.starting.asking.views import ServiceView
from bowerbird.starting.gathered import Gathered, Given

_PROBE_WEIGHT = 0.5
"""Of probes, where limits are short: what is collected comes before what might be."""


def add_lane(given: Given, gathered: Gathered, view: ServiceView, use: FacetUse) -> None:
    lane = gathered.lanes[view.numbers[use.name]] = _lane(given, view, use)
    # As the network has it: a batch that a server does not take is still asked by ids alone.
    if lane.facet.is_lookup and view.plain.facets[use.name].objects_per_call == 1:
        gathered.homes[host_of(view.service)] = lane.lane
    credentials = own_credentials(use, view.planned, given.plan.services, given.vault)
    gathered.charges[lane.lane] = charges_of(lane, view.speaks, credentials, given.plan, given.vault)


def _lane(given: Given, view: ServiceView, use: FacetUse) -> Lane:
    place = _place(given.plan, use, view.flow, view.speaks, view.numbers)
    is_searched = use.name in view.searched
    return Lane(
        lane=view.numbers[use.name],
        service=view.service,
        provider=view.speaks,
        facet=view.speaks.facets[use.name],
        ranker=_ranker(given, use, place),
        seeder=HeardSeeder(view.seeder) if is_searched else given.extensions.seeder(view.seeder, view.numbers),
        weight=use.weight * view.flow.weight,
        hints=use.hints,
        max_pages=use.max_pages,
        is_polled=use.revisit is not None,
        sieve=None if given.event is None else given.event.queue_filter(use.name),
        long_lists=None if use.large_share is None else LongLists(use.large_share, use.large_after),
        follows_opted_out=view.flow.filters.follow_opted_out,
        neighbourhood=_neighbourhood(given, view, use),
        links=stored_links(view.service, view.number, view.speaks.network, place.facet) if place.is_one_sided_walk else None,
    )


def _neighbourhood(given: Given, view: ServiceView, use: FacetUse) -> Neighbourhood | None:
    if use.ranker != Focus.name or given.plan.community is None or not given.plan.community.uses_relations:
        return None
    # Loaded for crawls of a community alone.
    from bowerbird.community.learning import StoredNeighbourhood

    return StoredNeighbourhood(given.database, view.number, view.speaks.network)


def waiting_lane(given: Given, view: ServiceView, use: FacetUse, why: Failure) -> Lane:
    """A lane that is not asked, with the reason."""
    return Lane(
        lane=view.numbers[use.name],
        service=view.service,
        provider=view.plain,
        facet=view.plain.facets[use.name],
        ranker=_ranker(given, use, _place(given.plan, use, view.kept, view.plain, view.numbers)),
        seeder=view.seeder,
        left_out=why,
    )


def add_probes(given: Given, gathered: Gathered, view: ServiceView) -> None:
    if given.event is None or not view.speaks.keyword_ways:
        return
    for name, number in view.probes.items():
        use = FacetUse(name, weight=_PROBE_WEIGHT, max_pages=1, hints={"limit": str(PROBE_POSTS)})
        lane = _lane(given, structs.replace(view, numbers={**view.numbers, name: number}), use)
        gathered.lanes[number] = structs.replace(lane, sieve=given.event.probe_filter())
        credentials = own_credentials(use, view.planned, given.plan.services, given.vault)
        gathered.charges[number] = charges_of(lane, view.speaks, credentials, given.plan, given.vault)
    gathered.probes.append(Searches(dict(view.probes), view.speaks))


def _ranker(given: Given, use: FacetUse, place: RankerSetting) -> Ranker:
    return given.extensions.ranker(use.ranker, use.revisit, lambda: ranker(use.ranker, use.options, use.revisit, place))


def _place(plan: CrawlPlan, use: FacetUse, flow: Flow, speaks: Provider, numbers: Mapping[str, int]) -> RankerSetting:
    facet = speaks.facets[use.name]
    seeds, others = starts(plan.seeds, speaks, facet) if use.ranker in WALKS else ((), 0)
    lanes = tuple(numbers[each.name] for each in flow.facets if each.ranker == use.ranker)
    lookups = (numbers[each.name] for each in flow.facets if is_batched_lookup(speaks.facets[each.name]))
    return RankerSetting(facet, lanes, use.ranker, seeds, others, next(lookups, None), use.max_pages)
