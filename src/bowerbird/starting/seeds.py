"""The seeds of a plan as targets of its lanes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from bowerbird.crawl.seeding.homes import HomeServers
from bowerbird.crawl.seeding.meaning import SeedMeanings, plot
from bowerbird.crawl.seeding.seeds import seed_arrivals, seed_targets
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Arrival
from bowerbird.ports import Clock, Database
from bowerbird.providers import provider
from bowerbird.reports.seeds.seed_query import chosen_by
from bowerbird.starting.gathered import Gathered

NOTHING_LOST: Mapping[str, Mapping[str, Failure]] = {}


def seeds_of(plan: CrawlPlan, gathered: Gathered, database: Database, clock: Clock) -> AsyncIterator[Arrival]:
    """The seeds of the plan as targets; those chosen from a store are read when it is their turn. Where they are keywords, the
    event half of the crawl looks after them."""
    if plan.flow.keywords is not None:
        return _none()
    targets = seed_targets(seed_meanings(plan, gathered.lost), gathered.lanes.values(), HomeServers(gathered.homes))
    chosen = chosen_by(plan.seeds.query, plan.services[0].service, database, clock)
    return seed_arrivals(targets, plan.searches, plan.seeds.located(), chosen, skips_bad=plan.skips_bad)


async def _none() -> AsyncIterator[Arrival]:
    nothing: tuple[Arrival, ...] = ()
    for arrival in nothing:
        yield arrival


def seed_meanings(plan: CrawlPlan, lost: Mapping[str, Mapping[str, Failure]] = NOTHING_LOST) -> SeedMeanings:
    """What seeds mean in a crawl; `lost`: by service the facets that it cannot be asked for, each with the reason."""
    services = (each.service for each in plan.services)
    # Keywords that a stream hears need not be searched for.
    heard = {each.service.name for each in plan.streams} if plan.flow.keywords is not None else set()
    lost = {name: why for name, why in lost.items() if name not in heard}
    return SeedMeanings(tuple(plot(plan.flow, each, provider(each.provider), lost.get(each.name, {})) for each in services))
