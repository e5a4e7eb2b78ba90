"""The seeds of a crawl as targets: written in its file or on the command line, named by its places, or chosen from a store."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.crawl.files.place_plans import SearchPlan
from bowerbird.crawl.files.seed_list import Seed
from bowerbird.crawl.flow import Flow
from bowerbird.crawl.lanes import Lane
from bowerbird.crawl.seeding.homes import Homes, host_of
from bowerbird.crawl.seeding.seeder import seed_arrival
from bowerbird.errors import UserError
from bowerbird.model import Arrival, Service, Subject

_MOST_NAMED = 5


class Soil(Struct, frozen=True):
    """Where seeds fall: the lanes of a flow by service and facet, the first service being the one that is meant unless said."""

    flow: Flow
    first: Service
    lanes: Mapping[str, Mapping[str, Lane]]
    homes: Homes

    def written(self, text: str) -> Arrival:
        """The target a person means; an address or handle of another server of the crawl goes to that server."""
        home = self.homes.away_from(self.first, text) if "@" in text and "://" not in text else None
        return self._on(self._service(text), text) if home is None else seed_arrival(home.lane, home.target)

    def chosen(self, key: str) -> Arrival:
        """A key of the first service."""
        return self._on(self.first.name, key)

    def searches(self, planned: Iterable[SearchPlan]) -> Iterator[Arrival]:
        for search in planned:
            lane = self.lanes[search.service][search.facet].lane
            yield from (seed_arrival(lane, target) for target in search.targets)

    def _service(self, text: str) -> str:
        """The service whose address it is, or else the first."""
        host = urlsplit(text).netloc.lower() if "://" in text else ""
        for name, lanes in self.lanes.items():
            if host and any(host_of(lane.service) == host for lane in lanes.values()):
                return name
        return self.first.name

    def _on(self, service: str, text: str) -> Arrival:
        """The target in the first facet that can take it."""
        problem: UserError | None = None
        seeds = self.flow.seeds
        # What begins with # is a hashtag, also for a flow that otherwise searches.
        for name in sorted(seeds, key=lambda each: each != "hashtag") if text.startswith("#") else seeds:
            lane = self.lanes[service].get(name)
            if lane is None:
                continue
            try:
                _check_server(text, lane)
                return seed_arrival(lane.lane, lane.provider.target(text, lane.facet))
            except UserError as error:
                problem = error
        raise problem or UserError(f"the flow {self.flow.name} takes no seeds, so {text!r} cannot be one")


def soil(flow: Flow, first: Service, lanes: Iterable[Lane], homes: Homes) -> Soil:
    by_service: dict[str, dict[str, Lane]] = {}
    for lane in lanes:
        by_service.setdefault(lane.service.name, {})[lane.facet.name] = lane
    return Soil(flow, first, by_service, homes)


async def sown(
    ground: Soil, searches: Iterable[SearchPlan], written: Iterable[Seed], chosen: AsyncIterable[str] | None
) -> AsyncIterator[Arrival]:
    """All seeds, read one by one: they may be millions. Raises `UserError` that names those that nobody understands."""
    for arrival in ground.searches(searches):
        yield arrival
    wrong = _Wrong()
    for seed in written:
        try:
            arrival = ground.written(seed.text)
        except UserError as error:
            wrong.add(seed, error)
        else:
            if not wrong.count:
                yield arrival
    wrong.check()
    if chosen is not None:
        async for key in chosen:
            yield ground.chosen(key)


class _Wrong:
    """The seeds that nobody understands: the first few with the reason, the rest as a number, for a file may hold only such."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[str] = []

    def add(self, seed: Seed, error: UserError) -> None:
        self.count += 1
        if len(self._first) < _MOST_NAMED:
            self._first.append(f"{seed.where}: {error}" if seed.where else str(error))

    def check(self) -> None:
        if self.count:
            rest = self.count - len(self._first)
            more = [f"and {rest:,} more that cannot be seeds"] if rest else []
            raise UserError("\n  ".join([*self._first, *more]))


def _check_server(text: str, lane: Lane) -> None:
    """On networks of many servers the number in a post's address means something on that server alone."""
    host = urlsplit(text).netloc.lower() if "://" in text else ""
    has_local_keys = getattr(lane.provider, "has_local_keys", False)
    if host and has_local_keys and lane.facet.subject is Subject.POST and host != host_of(lane.service):
        raise UserError(
            f"{text!r} is a post on {host}, and this crawl asks {lane.service.name}: add that server as another "
            f"[[services]], or open the post on {host_of(lane.service)} and write its address there"
        )
