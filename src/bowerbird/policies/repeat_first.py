"""`repeat_first`: the dynamic collector's order. Accounts with another post in the data first, the least recently asked of them
first, and never counts as least recent; then accounts with a single post, newest first.

As published, another post makes a list out of date at once; the collector was always so far behind that this did no harm. Where
the budget is larger, a busy account would be read again after every post: `rest_hours` says how long its last visit counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.moments import seconds

_REPEATED = 1e12
"""Above every time of arrival: minus the time of the last visit it orders those who came again."""


class RepeatFirst:
    """Who comes again is asked first, but not before it has rested."""

    name = "repeat_first"
    remembers = True

    def __init__(self, revisit: timedelta | None = None, rest_hours: int | None = None) -> None:
        """Without `rest_hours` a visit counts for as long as `revisit` says, or not at all."""
        self._revisit = revisit
        self._rest = (revisit or timedelta(0)) if rest_hours is None else timedelta(hours=rest_hours)

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        if known is None and arrival.news == 1:
            return Placement(seconds(now), now)
        if known is not None and known.progress.cursor is not None:
            # It is being asked already, and a very long list shall not be called to the front by each post.
            return Placement(known.priority, now)
        asked_at = known.visited_at if known is not None else None
        if asked_at is None:
            return Placement(_REPEATED, now, moves=True)
        return Placement(_REPEATED - seconds(asked_at), max(now, asked_at + self._rest), moves=True)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        is_repeated = visit.task.priority > _REPEATED / 2
        priority = _REPEATED - seconds(visit.at) if is_repeated or self._revisit is None else visit.task.priority
        return Placement(priority, None if self._revisit is None else visit.at + self._revisit)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)
