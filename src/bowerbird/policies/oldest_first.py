"""`oldest_first`: the dynamic collector's order for profiles. The never asked first, then whose data are oldest; ties by id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import log2

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.moments import seconds
from bowerbird.policies.rankers import next_due

_LARGEST = float(1 << 64)


class OldestFirst:
    """Who was never asked goes before all others, and these by when they were asked last, however much they post."""

    name = "oldest_first"
    remembers = True

    def __init__(self, revisit: timedelta | None = None) -> None:
        self._revisit = revisit

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        asked_at = known.visited_at if known is not None else None
        return Placement(_priority(arrival.target, asked_at), now)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        return Placement(_priority(visit.task.target, visit.at), next_due(visit, self._revisit))

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)


def _priority(target: str, asked_at: datetime | None) -> float:
    """Between 0 and -1 for the unasked, far below for the others; within a second the smaller id is first."""
    return -(_place(target) + (0 if asked_at is None else int(seconds(asked_at))))


def _place(target: str) -> float:
    """Where an id lies among all, from 0 to 1: numbers by value, words by their letters, without the prefix that all share."""
    own = target.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    if own.isascii() and own.isdigit():
        # By magnitude, because small numbers must differ as well as the largest.
        return min(log2(int(own[:20]) + 1) / 64, 1.0)
    return int.from_bytes(own.encode("utf-8", "replace")[:8].ljust(8, b"\0")) / _LARGEST
