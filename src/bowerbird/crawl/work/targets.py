"""What comes in. `Targets` puts targets into the frontier, where the rankers of their lanes want them: pages, streams, seeds and
rebuilding do it there. `Saver` saves what a page or a stream brings, and adds the targets that this leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Protocol

from msgspec import Struct, structs

from bowerbird.crawl.answers import endless_lists
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.flows.flow import STREAM
from bowerbird.model import Arrival, Facet, Lease, Page, Placement, Saved, Service, Settled, Turn
from bowerbird.ports import Clock, Frontier, Seeder, Sieve, Store, Transaction

ENOUGH = "as much of the list as was wanted has been read"


class Targets:
    """Adds targets in the caller's transaction; once that is committed, their lanes get turns."""

    def __init__(
        self,
        frontier: Frontier,
        lanes: ServedLanes,
        scheduler: Scheduler,
        admission: Admission | None = None,
        store: Store | None = None,
    ) -> None:
        """`admission`: who may still be asked about, in a crawl whose size is limited; `store`: knows who was forgotten."""
        self._store = store
        self.frontier = frontier
        self.lanes = lanes
        self._scheduler = scheduler
        self._admission = admission
        self._remembers = any(lane.ranker.remembers for lane in (*lanes.asked.values(), *lanes.waiting.values()))

    def wake(self) -> None:
        """Gives every lane a turn: others may have added something."""
        self._scheduler.wake(self.lanes.asked)

    async def add(self, tx: Transaction, arrivals: Sequence[Arrival], call: int | None, now: datetime) -> None:
        """Adds these, and those that the rankers name thereupon."""
        if self._remembers:
            # What rankers read and then write stays theirs; where none remembers, nobody waits for anybody.
            await self.frontier.take_turn(tx)
        await self._add(tx, arrivals, call, now)

    async def _add(self, tx: Transaction, arrivals: Sequence[Arrival], call: int | None, now: datetime) -> None:
        lanes: set[int] = set()
        arrivals = await self._allowed(tx, arrivals)
        if self._admission is not None and arrivals:
            arrivals = await self._admission.admitted(tx, arrivals)
        while arrivals:
            # One at a time where they lead on: two walkers may come to the same place.
            now_added = list(takewhile(lambda arrival: arrival.memory is None, arrivals)) or arrivals[:1]
            placements = await self._placements(tx, now_added, now)
            lanes |= await self.frontier.add(tx, placements, call, now)
            arrivals = [*arrivals[len(now_added) :], *(lead for _, placement in placements for lead in placement.leads)]
        if lanes:
            tx.after_commit(partial(self._scheduler.wake, lanes))

    async def _allowed(self, tx: Transaction, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
        """Without those who were forgotten: a crawl file may still name them as seeds."""
        if self._store is None or not arrivals:
            return arrivals
        services = {lane: self.lanes.of(lane).service for lane in {arrival.lane for arrival in arrivals}}
        names: dict[Service, set[str]] = {}
        for arrival in arrivals:
            names.setdefault(services[arrival.lane], set()).add(arrival.target)
        allowed = {each: await self._store.allowed_targets(tx, each, targets) for each, targets in names.items()}
        return [arrival for arrival in arrivals if arrival.target in allowed[services[arrival.lane]]]

    async def end(self, tx: Transaction, ended: Sequence[Settled], more: Sequence[Arrival], call: int, now: datetime) -> None:
        """Ends leases, raising `Fenced` where one is no longer ours; then adds where rankers lead from there, and `more`.

        The caller has added what the page leads to, and with it taken the rankers' turn."""
        ready = await self.frontier.settle(tx, ended, now)
        turns = {Turn(each.task.lane, each.is_paged) for each in ended if each.task.lane in ready}
        if turns:
            tx.after_commit(partial(self._scheduler.wake_turns, turns))
        # After the settle: a walk may lead back to the very task that it leaves.
        leads = [lead for each in ended for lead in each.placement.leads]
        if leads or more:
            await self._add(tx, leads, call, now)
            await self._add(tx, more, call, now)

    async def _scored(self, tx: Transaction, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
        """The arrivals with how likely they belong, in lanes whose ranker goes by that."""
        found: dict[tuple[int, str], float] = {}
        for number in {arrival.lane for arrival in arrivals}:
            if (around := self.lanes.of(number).neighbourhood) is not None:
                scores = await around.scores(tx, [arrival.target for arrival in arrivals if arrival.lane == number])
                found |= {(number, target): score for target, score in scores.items()}
        if not found:
            return arrivals
        return [structs.replace(arrival, score=found.get((arrival.lane, arrival.target))) for arrival in arrivals]

    async def _placements(self, tx: Transaction, arrivals: Sequence[Arrival], now: datetime) -> list[tuple[Arrival, Placement]]:
        arrivals = await self._scored(tx, arrivals)
        rankers = [self.lanes.of(arrival.lane).ranker for arrival in arrivals]
        remembering = [arrival for arrival, ranker in zip(arrivals, rankers, strict=True) if ranker.remembers]
        known = await self.frontier.known(tx, remembering) if remembering else {}
        return [
            (arrival, ranker.added(arrival, known.get((arrival.lane, arrival.target)), now))
            for arrival, ranker in zip(arrivals, rankers, strict=True)
        ]


class Speaker(Protocol):
    """A stream, as far as what it brings is concerned."""

    @property
    def service(self) -> Service: ...
    @property
    def facet(self) -> Facet: ...
    @property
    def seeder(self) -> Seeder: ...
    @property
    def sieve(self) -> Sieve | None: ...


class Brought(Struct, frozen=True):
    """A page as it was saved, and what of it was new."""

    page: Page
    saved: Saved
    seed_time: float = 0.0
    """How long it took to add what it leads to, in seconds."""


class Saver:
    """Saves what is brought, without what must not be kept, and adds the targets it leads to, in the caller's transaction."""

    def __init__(self, store: Store, targets: Targets, clock: Clock) -> None:
        self._store = store
        self._targets = targets
        self._clock = clock

    async def save(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, now: datetime) -> Brought:
        """A page that was asked for; a list that would never end is ended here."""
        page, trail = await endless_lists.bounded(tx, lane, lease, page)
        page = await self._store.allowed(tx, page, lane.service)
        if lane.sieve is not None:
            page = await lane.sieve.sift(tx, lease.tasks, page, lane.service, now)
        saved = await self._store.save(
            tx, page, service=lane.service, tasks=lease.tasks, facet=lane.facet, call=lease.call, now=now
        )
        if lane.sieve is not None:
            await lane.sieve.note(tx, lease.tasks, page, saved, now)
        if saved.is_enough and page.cursor is not None:
            page = structs.replace(page, cursor=None, is_whole=False, detail=ENOUGH)
        await endless_lists.remember(tx, lease, page, saved, trail)
        saved_at = self._clock.stopwatch()
        await self._targets.add(tx, lane.seeder.seed(lane.facet.name, lease.tasks, page, saved), lease.call, now)
        return Brought(page, saved, self._clock.stopwatch() - saved_at)

    async def hear(self, tx: Transaction, stream: Speaker, call: int, page: Page, now: datetime) -> Saved:
        """A page that a stream said by itself."""
        page = await self._store.allowed(tx, page, stream.service)
        if stream.sieve is not None:
            page = await stream.sieve.sift(tx, (), page, stream.service, now)
        saved = await self._store.hear(tx, page, service=stream.service, facet=stream.facet, call=call, now=now)
        if stream.sieve is not None:
            await stream.sieve.note(tx, (), page, saved, now)
        if arrivals := stream.seeder.seed(STREAM, (), page, saved):
            await self._targets.add(tx, arrivals, call, now)
        return saved
