"""The seeds of a crawl, changed while it runs or rests: those who run it find new ones in their queues, and ask no more about old
ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from bowerbird.crawl.seeding.former import Target, retire_seeds_except
from bowerbird.crawl.seeding.homes import HomeServers, host_of
from bowerbird.crawl.seeding.meaning import SeedMeanings, UnusableSeeds, plot
from bowerbird.crawl.seeding.seeds import SeedTargets, seed_targets
from bowerbird.crawl.work.bookkeeping import LEASE_TIME
from bowerbird.crawl.work.lanes import ServedLanes
from bowerbird.errors import UserError
from bowerbird.flows.files.sections.seed_list import Seed
from bowerbird.flows.flow import Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Reason
from bowerbird.ports import Clock, Database
from bowerbird.reports.seeds.listed import read_targets
from bowerbird.starting.stored_lanes import stored_flow, stored_lanes, targets_by_hand

_NOBODY = 0


class Sown(Struct, frozen=True):
    """What became of seeds that somebody named."""

    added: int
    problems: tuple[str, ...] = ()
    """Those that nobody can ask about, each with the reason; as many as can be read."""


async def add_seeds(database: Database, clock: Clock, name: str, seeds: Sequence[str]) -> Sown:
    """Puts seeds into the queues of a crawl; those that rested or were taken out are asked about again."""
    async with database.transaction() as tx:
        crawl, flow = await stored_flow(tx, name)
        _check_seeds(flow)
        lanes = await stored_lanes(tx, crawl, flow)
        if not lanes.waiting:
            raise UserError(f"{name} has not been started yet", "write the seeds into its file", code="unknown_crawl")
        arrivals, unusable = _meant(_ground(flow, lanes), seeds)
        await targets_by_hand(database, crawl, flow, lanes, lambda: _NOBODY).add(tx, arrivals, None, clock.now())
    return Sown(len(arrivals), (*unusable.first, *map(str, unusable.unaskable)))


async def retire_seeds(database: Database, clock: Clock, name: str, targets: Collection[Target], reason: Reason) -> int:
    """Asks no more about these seeds, each a service and what is asked about there, nor about what they alone led to by name;
    answers how many tasks that were. What was collected stays."""
    frontier = TaskFrontier(database, lambda: _NOBODY, lease=LEASE_TIME, call=LEASE_TIME)
    async with database.transaction() as tx:
        _, flow = await stored_flow(tx, name)
        _check_seeds(flow)
        kept = set(await read_targets(tx, name)) - set(targets)
        retired = await retire_seeds_except(tx, frontier, name, kept, reason, clock.now())
    return retired.tasks


def _check_seeds(flow: Flow) -> None:
    if flow.keywords is not None:
        raise UserError("the seeds of this crawl are keywords, which come and go by themselves", "block or pin them there")
    if flow.walks:
        raise UserError("this crawl walks from one account to the next: where it began cannot be changed any more")


def _ground(flow: Flow, lanes: ServedLanes) -> SeedTargets:
    found = list(lanes.waiting.values())
    services = {lane.service.name: lane for lane in found}
    plots = (plot(flow, lane.service, lane.provider, {}) for lane in services.values())
    homes = HomeServers({host_of(lane.service): lane.lane for lane in found if lane.facet.is_lookup})
    return seed_targets(SeedMeanings(tuple(plots)), found, homes)


def _meant(ground: SeedTargets, seeds: Sequence[str]) -> tuple[list[Arrival], UnusableSeeds]:
    arrivals, unusable = [], UnusableSeeds()
    for text in seeds:
        try:
            # A person's word: what rested is asked about again.
            arrivals.append(structs.replace(ground.written(text), wakes=True))
        except (UserError, KeyError) as error:
            unusable.add(
                Seed(text), error if isinstance(error, UserError) else UserError(f"{text!r}: the crawl does not ask that")
            )
    return arrivals, unusable
