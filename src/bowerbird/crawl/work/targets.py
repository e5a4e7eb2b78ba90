"""Puts targets into the frontier, where the rankers of their lanes want them. Pages, streams, seeds and rebuilding do it here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile

from msgspec import structs

from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.lanes import Lanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.model import Arrival, Placement, Service, Settled, Turn
from bowerbird.ports import Frontier, Store, Transaction


class Targets:
    """Adds targets in the caller's transaction; once that is committed, their lanes get turns."""

    def __init__(
        self,
        frontier: Frontier,
        lanes: Lanes,
        scheduler: Scheduler,
        admission: Admission | None = None,
        store: Store | None = None,
    ) -> None:
        """`admission`: who may still be asked about, in a crawl whose size is limited; `store`: knows who was forgotten."""
        self._store = store
        self._frontier = frontier
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
            await self._frontier.take_turn(tx)
        await self._add(tx, arrivals, call, now)

    async def _add(self, tx: Transaction, arrivals: Sequence[Arrival], call: int | None, now: datetime) -> None:
        lanes: set[int] = set()
        arrivals = await self._allowed(tx, arrivals)
        if self._admission is not None and arrivals:
            arrivals = await self._admission.admitted(tx, arrivals)
        while arrivals:
            # One at a time where they lead on: two walkers may come to the same place.
            now_added = list(takewhile(lambda arrival: arrival.memory is None, arrivals)) or arrivals[:1]
            standings = await self._placements(tx, now_added, now)
            lanes |= await self._frontier.add(tx, standings, call, now)
            arrivals = [*arrivals[len(now_added) :], *(lead for _, standing in standings for lead in standing.leads)]
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
        ready = await self._frontier.settle(tx, ended, now)
        turns = {Turn(each.task.lane, each.is_paged) for each in ended if each.task.lane in ready}
        if turns:
            tx.after_commit(partial(self._scheduler.wake_turns, turns))
        # After the settle: a walk may lead back to the very task that it leaves.
        leads = [lead for each in ended for lead in each.standing.leads]
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
        known = await self._frontier.known(tx, remembering) if remembering else {}
        return [
            (arrival, ranker.added(arrival, known.get((arrival.lane, arrival.target)), now))
            for arrival, ranker in zip(arrivals, rankers, strict=True)
        ]
