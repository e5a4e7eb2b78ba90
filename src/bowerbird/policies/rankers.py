"""The rankers: who is asked next. The frontier gives out a lane in the order (priority, highest first; due, earliest first; age).

A listing under way goes to the end of its priority after each page, so that a long list cannot starve the others. A finished
target sleeps until an edge wakes it or, with `revisit`, until that time has passed; one that the service says is not to be had
rests for a day at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.moments import ABSENT, lot, seconds

_SEED = 1e12
"""More than anybody is named."""


class Fifo:
    """First come, first served."""

    name = "fifo"
    remembers = False

    def __init__(self, revisit: timedelta | None = None) -> None:
        self.revisit = revisit

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(0.0, now)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        return Placement(visit.task.priority, next_due(visit, self.revisit))

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)


class Gather(Fifo):
    """First come, first served, but only every so many minutes: what arrives in between is asked together, in full batches."""

    name = "gather"

    def __init__(self, revisit: timedelta | None = None, minutes: int = 5) -> None:
        super().__init__(revisit)
        self._every = timedelta(minutes=minutes).total_seconds()

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(0.0, now + timedelta(seconds=self._every - seconds(now) % self._every))


class Lifo(Fifo):
    """Last come, first served; targets of the same page keep the page's order."""

    name = "lifo"

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(seconds(now), now)


class Bfs(Fifo):
    """Nearest to the seeds first: breadth first over whatever the edges add."""

    name = "bfs"

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        depth = arrival.depth if known is None else min(arrival.depth, known.depth)
        return Placement(-float(depth), now)


class MostNamed(Fifo):
    """Seeds first, then whom most pages have named: of a network too large to be read, those whom most others point at."""

    name = "most_named"
    remembers = True

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        if arrival.depth == 0:
            return Placement(_SEED, now)
        # How often is in the priority itself; one that waits already moves forward with every page.
        return Placement(1.0 if known is None else known.priority + 1, now, moves=True)


class Circular(Fifo):
    """The head of the queue is asked and goes to its end; nothing is ever done, `revisit` only slows the circle down."""

    name = "circular"

    def __init__(self, revisit: timedelta | None = None) -> None:
        super().__init__(revisit or timedelta())


class Random(Fifo):
    """A random order that is the same for the same seed, whatever was asked in between."""

    name = "random"

    def __init__(self, revisit: timedelta | None = None, seed: int = 0) -> None:
        super().__init__(revisit)
        self.seed = seed

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(self._lot(arrival.target, known.visits if known else 0), now)

    def visited(self, visit: Visit) -> Placement:
        priority = self._lot(visit.task.target, visit.task.visits + 1)
        return Placement(priority, next_due(visit, self.revisit))

    def _lot(self, target: str, visits: int) -> float:
        """Hashed and not drawn from a shared stream: the order of questions cannot change it."""
        return lot(self.seed, visits, target)


def next_due(visit: Visit, revisit: timedelta | None) -> datetime | None:
    """When a visited target may be asked again: `revisit` later, or never by itself; one that is not to be had after a day."""
    if revisit is None:
        return None
    return visit.at + (max(revisit, ABSENT) if visit.outcome.is_about_target else revisit)
