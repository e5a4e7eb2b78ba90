"""Rebuilds queues from what is in the store while calls are made: authors of listed posts whom a lane does not know.

While a crawl runs, a page and the targets it adds are written in one transaction, so nothing is ever missing. But a flow may have
got a new facet, or another condition, since the posts were listed. A lane whose edges are those of the last run is not looked at.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import TypeVar

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.work.bookkeeping import Bookkeeping
from bowerbird.crawl.work.targets import Targets
from bowerbird.flows.flow import Edge, Flow
from bowerbird.model import Arrival, Page, Recalled, Saved, Service
from bowerbird.ports import Part, Recall, Seeder, Transaction

T = TypeVar("T")

AUTHORS = "authors"
_PIECE = 200
"""Posts looked at in one go and their authors added in one transaction: hundredths of a second, so that no answer waits long."""
_REST = timedelta(milliseconds=50)
"""Between two of them; at least as long as it takes: the calls come first."""
_MARK = """
insert into rebuilds (lane, edges, sighting, done_at) values (?, ?, ?, ?)
on conflict (lane) do update set edges = excluded.edges, sighting = excluded.sighting, done_at = excluded.done_at
"""

_AGAIN = """
select u.id from users u where u.id {ids} and (
    select count(distinct p.post_no) from posts p join sightings s on s.post_no = p.post_no
    where p.author = u.user_no and p.deleted_at is null and s.lane {lanes}) > 1
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
    """Brings the queues of one crawl up to date while it calls; killed, it goes on where it was."""

    def __init__(self, books: Bookkeeping, targets: Targets, recall: Recall, tally: Tally) -> None:
        self._books = books
        self._targets = targets
        self._recall = recall
        self._tally = tally
        self._last = 0
        """The last sighting when the crawl was started."""
        self._is_ending = False
        self._is_at_it = False

    def is_at_it(self) -> bool:
        """Whether it may still add targets."""
        return self._is_at_it

    def part(self, every: Sequence[Queues]) -> Part:
        return Part(
            name="rebuild",
            run=partial(self.run, every),
            prepare=partial(self.open, every),
            end=self.end,
            feeds=self.is_at_it,
        )

    def end(self) -> None:
        self._is_ending = True

    async def open(self, every: Sequence[Queues]) -> None:
        """Settles before the first call what is to be rebuilt: what is listed from then on reaches every queue by itself."""
        async with self._books.database.transaction() as tx:
            await self._forget(tx, {lane for queues in every for lane in queues.edges})
            for queues in every:
                begun = await self._open(tx, queues)
                await tx.execute_many(_MARK, [(lane, queues.edges[lane], upto, None) for lane, upto in begun.items()])
                self._is_at_it |= bool(begun)
            row = await tx.fetch_one("select max(sighting) as last from sightings")
        self._last = row["last"] or 0 if row is not None else 0

    async def run(self, every: Sequence[Queues]) -> None:
        """Returns when every queue knows the authors of all posts listed before the start, or when it is ended."""
        for queues in every:
            await self._rebuild(queues)
        self._is_at_it, self._tally.activity = False, ""

    async def _forget(self, tx: Transaction, used: set[int]) -> None:
        """A lane that the flow does not lead to now will not know what is listed meanwhile."""
        rows = await tx.fetch(
            "select r.lane from rebuilds r join lanes l on l.lane = r.lane where l.crawl = ?", self._books.crawl
        )
        await tx.execute_many("delete from rebuilds where lane = ?", [(r["lane"],) for r in rows if r["lane"] not in used])

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

    async def _rebuild(self, queues: Queues) -> None:
        async with self._books.database.reading() as tx:
            lanes = await self._open(tx, queues)
        after: int | None = min(lanes.values(), default=None)
        while after is not None and not self._is_ending:
            self._tally.activity = f"rebuilding queues: {after / max(self._last, 1):.0%} of the posts listed before"
            after = await self._step(queues, list(lanes), after)

    async def _step(self, queues: Queues, lanes: Sequence[int], after: int) -> int | None:
        """Looks through the next sightings; answers up to which one, or None at the end."""
        async with self._books.database.reading() as tx:
            recalled = await self._recall.recall(tx, queues.service, list(queues.sources), lanes, after)
        if recalled is None:
            await self._mark(queues, lanes, after, is_done=True)
            return None
        for lane, page, saved in _pieces(recalled):
            arrivals = queues.seeder.seed(queues.sources[lane], (), page, saved)
            wanted = [each for each in arrivals if _is_wanted(each, queues, recalled)]
            await self._add(await self._counted(queues, wanted, page), recalled.at)
            if self._is_ending:
                return None
        is_done = recalled.upto >= self._last
        await self._mark(queues, lanes, recalled.upto, is_done=is_done)
        return None if is_done else recalled.upto

    async def _counted(self, queues: Queues, arrivals: Sequence[Arrival], page: Page) -> list[Arrival]:
        """The arrivals, each with whether other posts of it were listed too: before these, or after."""
        database, keys = self._books.database, {arrival.target for arrival in arrivals}
        ids = {user.id: user.key for user in page.users if user.key in keys}
        sql = _AGAIN.format(lanes=database.any("bigint"), ids=database.any("text"))
        async with database.reading() as tx:
            rows = await tx.fetch(sql, database.members(list(ids)), database.members(list(queues.sources)))
        again = {ids[row["id"]] for row in rows}
        return [msgspec.structs.replace(each, news=max(each.news, 1 + (each.target in again))) for each in arrivals]

    async def _add(self, arrivals: Sequence[Arrival], listed_at: datetime) -> None:
        # As of then: who was listed later comes first where the newest do.
        await self._write(lambda tx: self._targets.add(tx, arrivals, None, listed_at))
        await self._books.clock.sleep_until(self._books.clock.now() + _REST)

    async def _mark(self, queues: Queues, lanes: Sequence[int], upto: int, *, is_done: bool) -> None:
        done_at = to_micros(self._books.clock.now()) if is_done else None
        rows = [(lane, queues.edges[lane], upto, done_at) for lane in lanes]
        await self._write(lambda tx: tx.execute_many(_MARK, rows))

    async def _write(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        async def once() -> T:
            async with self._books.database.transaction() as tx:
                return await work(tx)

        return await patiently(once, self._books.clock, self._tally.blocked)


def _pieces(recalled: Recalled) -> Iterator[tuple[int, Page, Saved]]:
    """What was told again, in small pages."""
    for lane, page, saved in recalled.pages:
        users = {user.id: (user, known) for user, known in zip(page.users, saved.users, strict=True)}
        for first in range(0, len(page.posts), _PIECE):
            posts, kept = page.posts[first : first + _PIECE], saved.posts[first : first + _PIECE]
            own = [users[author] for author in dict.fromkeys(post.author for post in posts) if author in users]
            told = Page(users=tuple(user for user, _ in own), posts=posts)
            yield lane, told, Saved(users=tuple(known for _, known in own), posts=kept)


def _is_wanted(arrival: Arrival, queues: Queues, recalled: Recalled) -> bool:
    """Whether a queue lacks it; of other lanes, such as those of an author's home server, that is not known."""
    return (arrival.lane, arrival.target) in recalled.lacking or arrival.lane not in queues.edges
