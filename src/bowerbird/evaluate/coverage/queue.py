"""The frontier's order of one lane in memory: what a ranker says of tasks, without a database."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush

from msgspec import structs

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.ports import Ranker

_Ready = tuple[float, datetime, int, int]
"""Priority with its sign turned, due, the task's number, and which of its places this is: the first of these goes first."""
_Asleep = tuple[datetime, int, int]


class Queue:
    """The tasks of one lane, taken as the frontier would: each part of a choice by priority, then by when they were due.

    Ready tasks lie in one heap per band of priorities between which the ranker distinguishes; those that are not due yet in
    another. A task that moves leaves its old place behind, which no longer counts.
    """

    def __init__(self, ranker: Ranker, lane: int = 1) -> None:
        self._ranker = ranker
        self._lane = lane
        self._tasks: dict[str, Task] = {}
        self._targets: list[str] = []
        self._due: list[datetime | None] = []
        self._place: list[int] = []
        self._known: set[float] = set()
        self._edges: list[float] = []
        self._bands: list[list[_Ready]] = [[]]
        self._asleep: list[_Asleep] = []

    def add(self, arrival: Arrival, now: datetime) -> None:
        """A target that comes new, or is woken."""
        known = self._tasks.get(arrival.target)
        placement = self._ranker.added(arrival, known, now)
        if known is None:
            task = Task(task=len(self._due), lane=self._lane, target=arrival.target, token=0, added_at=now)
            self._targets.append(arrival.target)
            self._due.append(None)
            self._place.append(0)
            self._put(structs.replace(task, memory=placement.memory), placement)
        elif placement.moves or not self._is_ready(known, now):
            self._put(structs.replace(known, memory=placement.memory or known.memory), placement)

    def settle(self, visit: Visit) -> None:
        """A task was asked about."""
        placement = self._ranker.visited(visit)
        task = structs.replace(visit.task, visits=visit.task.visits + 1, visited_at=visit.at, memory=placement.memory)
        self._put(task, placement)

    def take(self, room: int, now: datetime) -> list[Task]:
        """The next choice; what was taken comes back when it is settled."""
        self._wake(now)
        draws = self._ranker.draws(room, now)
        self._divide(draws)
        chosen: list[Task] = []
        for draw in draws:
            chosen.extend(self._drawn(draw, draw.count - len(chosen)))
        return chosen

    @property
    def soonest(self) -> datetime | None:
        """When the next task wakes up."""
        return self._asleep[0][0] if self._asleep else None

    def _is_ready(self, task: Task, now: datetime) -> bool:
        due = self._due[task.task]
        return due is not None and due <= now

    def _put(self, task: Task, placement: Placement) -> None:
        number = task.task
        self._tasks[task.target] = structs.replace(task, priority=placement.priority)
        self._due[number] = placement.due
        self._place[number] += 1
        if placement.due is not None:
            heappush(self._asleep, (placement.due, number, self._place[number]))

    def _wake(self, now: datetime) -> None:
        while self._asleep and self._asleep[0][0] <= now:
            due, number, place = heappop(self._asleep)
            if place == self._place[number]:
                self._line_up((-self._tasks[self._targets[number]].priority, due, number, place))

    def _line_up(self, ready: _Ready) -> None:
        heappush(self._bands[bisect_right(self._edges, -ready[0])], ready)

    def _divide(self, draws: Sequence[Draw]) -> None:
        """Makes a band of its own of whatever lies between two bounds that the ranker names."""
        bounds = {bound for draw in draws for bound in (draw.low, draw.high)}
        if bounds <= self._known:
            return
        self._known |= bounds
        self._edges = sorted(self._known)
        ready = [each for band in self._bands for each in band]
        self._bands = [[] for _ in range(len(self._edges) + 1)]
        for each in ready:
            self._line_up(each)

    def _drawn(self, draw: Draw, most: int) -> Iterator[Task]:
        low, high = bisect_right(self._edges, draw.low), bisect_right(self._edges, draw.high)
        for band in reversed(self._bands[low:high]):
            while band and most > 0:
                _, _, number, place = heappop(band)
                if place == self._place[number]:
                    most -= 1
                    yield self._tasks[self._targets[number]]
