"""The seeds of a plan as targets of its lanes, and as changes to those that its crawl began with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

from msgspec import Struct

from bowerbird.crawl.seeding.former import Target, resume_seeds, retire_seeds_except
from bowerbird.crawl.seeding.homes import HomeServers, host_of
from bowerbird.crawl.seeding.meaning import SeedMeanings, plot
from bowerbird.crawl.seeding.seeds import seed_arrivals, seed_targets
from bowerbird.crawl.work.bookkeeping import LEASE_TIME
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Reason
from bowerbird.ports import Clock, Database
from bowerbird.providers import provider
from bowerbird.reports.seeds.seed_query import chosen_by
from bowerbird.starting.gathered import Gathered

NOTHING_LOST: Mapping[str, Mapping[str, Failure]] = {}
_NOT_NAMED = Reason("user", "the crawl file no longer names it")


class SeedChanges(Struct, frozen=True):
    """How many seeds of a crawl were retired and resumed."""

    retired: int = 0
    resumed: int = 0


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


async def apply_seeds(database: Database, plan: CrawlPlan, clock: Clock) -> SeedChanges:
    """Retire the seeds of a crawl that its plan no longer names, and resume those that it names again.

    Does nothing where the seeds in the queues cannot be compared with those of the plan: seeds chosen by a query, walks,
    which do not come back to where they began, and event crawls, whose keywords come and go.
    """
    if plan.seeds.query is not None or plan.flow.walks or plan.flow.keywords is not None:
        return SeedChanges()
    named = set(_named_targets(plan))
    frontier = TaskFrontier(database, lambda: 0, lease=LEASE_TIME, call=LEASE_TIME)
    async with database.transaction() as tx:
        resumed = await resume_seeds(tx, plan.name, named, clock.now())
        retired = await retire_seeds_except(tx, frontier, plan.name, named, _NOT_NAMED, clock.now())
    return SeedChanges(retired.seeds, resumed)


def _named_targets(plan: CrawlPlan) -> Iterator[Target]:
    """The targets of a plan: its seeds, the words of its places, and what fills the gaps of its streams."""
    meanings, services = seed_meanings(plan), [each.service for each in plan.services]
    homes = HomeServers({host_of(service): number for number, service in enumerate(services)})
    for seed in plan.seeds:
        home = homes.away_from(services[0], seed) if "@" in seed and "://" not in seed else None
        if home is not None:
            yield services[home.lane].name, home.target
        try:
            placed = meanings.place(seed)
        except UserError:
            continue
        yield placed.service, placed.target
    yield from ((search.service, target) for search in plan.searches for target in search.targets)
    for each in plan.streams:
        stream = provider(each.service.provider)
        if stream.channels:
            yield from ((each.service.name, target) for target in stream.fill_targets(each.subscription))
