"""The seeds of a crawl as targets: written in its file or on the command line, named by its places, or chosen from a store."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping

from msgspec import Struct

from bowerbird.crawl.seeding.homes import HomeServers
from bowerbird.crawl.seeding.meaning import SeedMeanings, UnusableSeeds
from bowerbird.crawl.seeding.seeder import seed_arrival
from bowerbird.crawl.work.lanes import Lane
from bowerbird.errors import UserError
from bowerbird.flows.files.sections.place_plans import SearchPlan
from bowerbird.flows.files.sections.seed_list import Seed
from bowerbird.model import Arrival


class SeedTargets(Struct, frozen=True):
    """Where seeds fall: the lanes of a crawl by service and facet."""

    ground: SeedMeanings
    lanes: Mapping[str, Mapping[str, Lane]]
    homes: HomeServers

    def written(self, text: str) -> Arrival:
        """The target a person means; a handle of another server of the crawl goes to that server."""
        first = self.ground.plots[0].service
        home = self.homes.away_from(first, text) if "@" in text and "://" not in text else None
        if home is not None:
            return seed_arrival(home.lane, home.target)
        placed = self.ground.place(text)
        return seed_arrival(self.lanes[placed.service][placed.facet].lane, placed.target)

    def chosen(self, key: str) -> Arrival:
        """A key of the first service."""
        placed = self.ground.plots[0].place(key)
        return seed_arrival(self.lanes[placed.service][placed.facet].lane, placed.target)

    def searches(self, planned: Iterable[SearchPlan]) -> Iterator[Arrival]:
        for search in planned:
            lane = self.lanes[search.service][search.facet].lane
            yield from (seed_arrival(lane, target) for target in search.targets)


def seed_targets(ground: SeedMeanings, lanes: Iterable[Lane], homes: HomeServers) -> SeedTargets:
    by_service: dict[str, dict[str, Lane]] = {}
    for lane in lanes:
        by_service.setdefault(lane.service.name, {})[lane.facet.name] = lane
    return SeedTargets(ground, by_service, homes)


async def seed_arrivals(
    targets: SeedTargets,
    searches: Iterable[SearchPlan],
    written: Iterable[Seed],
    chosen: AsyncIterable[str] | None,
    *,
    skips_bad: bool = False,
) -> AsyncIterator[Arrival]:
    """All seeds, read one by one: they may be millions. Raises `UserError` that names those that nobody can ask about, unless
    it `skips_bad` ones and there are others."""
    for arrival in targets.searches(searches):
        yield arrival
    unusable = UnusableSeeds()
    for seed in written:
        try:
            arrival = targets.written(seed.text)
        except UserError as error:
            unusable.add(seed, error)
        else:
            unusable.good += 1
            if skips_bad or not unusable.bad:
                yield arrival
    unusable.check(skips_bad=skips_bad)
    if chosen is not None:
        async for key in chosen:
            yield targets.chosen(key)
