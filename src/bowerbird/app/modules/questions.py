"""What modules have a crawl ask: accounts and posts by number become targets of its lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bowerbird.crawl.work.lanes import Lane, Lanes
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Arrival, Service
from bowerbird.ports import Clock, Database, Row, Transaction
from bowerbird.store.people.names import has_local_keys, key_in

_STEP = 1
"""How far from the seeds they count as found."""


class LaneQuestions:
    """Implements `ports.Questions` over the lanes of a crawl."""

    def __init__(self, database: Database, lanes: Lanes, targets: Targets, clock: Clock) -> None:
        self._database = database
        self._lanes = lanes
        self._targets = targets
        self._clock = clock
        number = database.any("bigint")
        self._users = f"select user_no as number, id, network from users where coalesce(opts_out, 0) = 0 and user_no {number}"
        self._posts = f"select post_no as number, id, network from posts where deleted_at is null and post_no {number}"
        self._user_keys = self._keys("user_keys", "user_no")
        self._post_keys = self._keys("post_keys", "post_no")

    @property
    def facets(self) -> frozenset[str]:
        return frozenset(lane.facet.name for lane in self._all())

    async def about_users(self, tx: Transaction, facet: str, users: Sequence[int], *, again: bool = False) -> int:
        found = await tx.fetch(self._users, self._database.members(list(users))) if users else ()
        return await self._ask(tx, facet, found, self._user_keys, again=again)

    async def about_posts(self, tx: Transaction, facet: str, posts: Sequence[int], *, again: bool = False) -> int:
        found = await tx.fetch(self._posts, self._database.members(list(posts))) if posts else ()
        return await self._ask(tx, facet, found, self._post_keys, again=again)

    async def _ask(self, tx: Transaction, facet: str, found: Sequence[Row], keys: str, *, again: bool) -> int:
        """Each at the first service of the crawl that knows it."""
        left = {row["number"]: row for row in found}
        arrivals: list[Arrival] = []
        for lane in (each for each in self._all() if each.facet.name == facet):
            targets = await self._targets_on(tx, lane.service, lane.provider.network, list(left.values()), keys)
            arrivals += [Arrival(lane=lane.lane, target=key, depth=_STEP, wakes=again) for key in targets.values()]
            left = {number: row for number, row in left.items() if number not in targets}
        if arrivals:
            await self._targets.add(tx, arrivals, None, self._clock.now())
        return len(arrivals)

    async def _targets_on(
        self, tx: Transaction, service: Service, network: str, found: Sequence[Row], keys: str
    ) -> dict[int, str]:
        own = [row for row in found if row["network"] == network]
        if not has_local_keys(network):
            named = ((row["number"], key_in(network, row["id"])) for row in own)
            return {number: key for number, key in named if key}
        rows = await tx.fetch(keys, service.name, self._database.members([row["number"] for row in own])) if own else ()
        return {row["number"]: row["key"] for row in rows}

    def _keys(self, table: str, number: str) -> str:
        return (
            f"select k.{number} as number, max(k.key) as key from {table} k join services s on s.service = k.service "
            f"where s.name = ? and k.{number} {self._database.any('bigint')} group by k.{number}"
        )

    def _all(self) -> Iterator[Lane]:
        yield from self._lanes.asked.values()
        yield from self._lanes.waiting.values()
