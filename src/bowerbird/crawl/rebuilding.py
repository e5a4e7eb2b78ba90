"""Rebuilds queues at the start of a crawl from what is in the store: authors of listed posts whom a lane does not know.

While a crawl runs, a page and the targets it adds are written in one transaction, so nothing is ever missing. But a flow may have
got a new facet, or another condition, since the posts were listed. A lane whose edges are those of the last run is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.crawl import roster
from bowerbird.crawl.dispatcher import Dispatcher, Parts
from bowerbird.crawl.flow import Edge, Flow
from bowerbird.model import Arrival, Recalled, Service
from bowerbird.ports import Recall, Seeder, Transaction

AUTHORS = "authors"
_MARK = """
insert into rebuilds (lane, edges, sighting, done_at) values (?, ?, ?, ?)
on conflict (lane) do update set edges = excluded.edges, sighting = excluded.sighting, done_at = excluded.done_at
"""


class Queues(Struct, frozen=True, kw_only=True):
    """The lanes of one service that authors of listed posts are led to, and where posts are listed."""

    service: Service
    seeder: Seeder
    sources: Mapping[int, str]
    """By lane: what the flow's edges call it."""
    edges: Mapping[int, str]
    """By lane: the rules that lead to it, as a hash that changes when they do."""


def queues_of(flow: Flow, service: Service, seeder: Seeder, lanes: Mapping[str, int], sources: Mapping[int, str]) -> list[Queues]:
    """What can be rebuilt for a flow on one service: nothing unless an edge takes authors from a source."""
    named = set(sources.values())
    leading = [edge for edge in flow.edges if edge.take == AUTHORS and edge.source in named]
    edges = {lanes[to]: _rules(flow, [edge for edge in leading if edge.to == to]) for to in dict.fromkeys(e.to for e in leading)}
    return [Queues(service=service, seeder=seeder, sources=sources, edges=edges)] if edges else []


def _rules(flow: Flow, edges: Sequence[Edge]) -> str:
    return sha256(msgspec.json.encode([edges, flow.filters])).hexdigest()[:32]


class Rebuilder:
    """Brings the queues of one crawl up to date before its first call; interrupted, it goes on where it was."""

    def __init__(self, parts: Parts, dispatcher: Dispatcher, recall: Recall, crawl: int, worker: int) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._recall = recall
        self._crawl = crawl
        self._worker = worker

    async def run(self, every: Sequence[Queues]) -> None:
        """Returns when every queue knows the authors of all posts listed so far, or is known to know them."""
        await self._forget({lane for queues in every for lane in queues.edges})
        for queues in every:
            await self._rebuild(queues)

    async def _forget(self, used: set[int]) -> None:
        """A lane that the flow does not lead to now will not know what is listed meanwhile."""
        async with self._parts.database.transaction() as tx:
            rows = await tx.fetch(
                "select r.lane from rebuilds r join lanes l on l.lane = r.lane where l.crawl = ?", self._crawl
            )  # fmt: skip
            await tx.execute_many("delete from rebuilds where lane = ?", [(r["lane"],) for r in rows if r["lane"] not in used])

    async def _rebuild(self, queues: Queues) -> None:
        async with self._parts.database.transaction() as tx:
            open_lanes = await self._open(tx, queues)
        if not open_lanes:
            return
        after: int | None = min(open_lanes.values())
        while after is not None:
            async with self._parts.database.transaction() as tx:
                after = await self._step(tx, queues, list(open_lanes), after)

    async def _open(self, tx: Transaction, queues: Queues) -> dict[int, int]:
        """The lanes to rebuild, with the sighting from which on."""
        rows = {row["lane"]: row for row in await tx.fetch("select lane, edges, sighting, done_at from rebuilds")}
        found: dict[int, int] = {}
        for lane, edges in queues.edges.items():
            row = rows.get(lane)
            if row is None or row["edges"] != edges:
                found[lane] = 0
            elif row["done_at"] is None:
                found[lane] = row["sighting"]
        return found

    async def _step(self, tx: Transaction, queues: Queues, lanes: Sequence[int], after: int) -> int | None:
        now = self._parts.clock.now()
        await roster.heartbeat(tx, self._worker, now)
        recalled = await self._recall.recall(tx, queues.service, list(queues.sources), lanes, after)
        if recalled is not None:
            # As of then: who was listed later comes first where the newest do.
            await self._dispatcher.add(tx, _arrivals(queues, recalled), None, recalled.at)
        upto, done_at = (after, to_micros(now)) if recalled is None else (recalled.upto, None)
        await tx.execute_many(_MARK, [(lane, queues.edges[lane], upto, done_at) for lane in lanes])
        return None if recalled is None else recalled.upto


def _arrivals(queues: Queues, recalled: Recalled) -> list[Arrival]:
    """What the flow's own edges make of the posts, as far as it is lacking; each target once."""
    found: dict[tuple[int, str], Arrival] = {}
    for lane, page, saved in recalled.pages:
        for arrival in queues.seeder.seed(queues.sources[lane], (), page, saved):
            place = (arrival.lane, arrival.target)
            if place in recalled.lacking or arrival.lane not in queues.edges:
                before = found.get(place)
                found[place] = arrival if before is None else msgspec.structs.replace(arrival, news=arrival.news + before.news)
    return list(found.values())
