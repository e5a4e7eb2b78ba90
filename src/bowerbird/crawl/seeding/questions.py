"""What modules have a crawl ask: accounts and posts by number become targets of its lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Arrival, Subject
from bowerbird.ports import Clock, Keys, Transaction

_STEP = 1
"""How far from the seeds they count as found."""


class LaneQuestions:
    """Implements `ports.Questions` over the lanes of a crawl."""

    def __init__(self, keys: Keys, lanes: ServedLanes, targets: Targets, clock: Clock) -> None:
        self._keys = keys
        self._lanes = lanes
        self._targets = targets
        self._clock = clock

    @property
    def facets(self) -> frozenset[str]:
        return frozenset(lane.facet.name for lane in self._all())

    async def about_users(
        self, tx: Transaction, facet: str, users: Sequence[int], *, again: bool = False, most: int | None = None
    ) -> int:
        return await self._ask(tx, facet, Subject.USER, users, again=again, most=most)

    async def about_posts(self, tx: Transaction, facet: str, posts: Sequence[int], *, again: bool = False) -> int:
        return await self._ask(tx, facet, Subject.POST, posts, again=again)

    async def _ask(
        self, tx: Transaction, facet: str, subject: Subject, numbers: Sequence[int], *, again: bool, most: int | None = None
    ) -> int:
        """Each at the first service of the crawl that knows it."""
        left = list(dict.fromkeys(numbers))
        arrivals: list[Arrival] = []
        for lane in (each for each in self._all() if each.facet.name == facet):
            keys = await self._keys.of(tx, subject, lane.service, lane.provider.network, left)
            targets = [keys[number] for number in left if number in keys]
            left = [number for number in left if number not in keys]
            found = [Arrival(lane=lane.lane, target=target, depth=_STEP, wakes=again) for target in targets]
            known = await self._targets.frontier.known(tx, found) if most is not None else {}
            arrivals += [each for each in found if (each.lane, each.target) not in known]
        arrivals = arrivals[:most]
        if arrivals:
            await self._targets.add(tx, arrivals, None, self._clock.now())
        return len(arrivals)

    def _all(self) -> Iterator[Lane]:
        yield from self._lanes.asked.values()
        yield from self._lanes.waiting.values()
