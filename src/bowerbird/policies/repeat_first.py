"""`repeat_first`: the dynamic collector's order. Accounts with another post in the data first, the least recently asked of them
first, and never counts as least recent; then accounts with a single post, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bowerbird.model import Arrival, Draw, Standing, Task, Visit
from bowerbird.policies.moments import seconds

_REPEATED = 1e12
"""Above every time of arrival: minus the time of the last visit it orders those who came again."""


class RepeatFirst:
    """Who comes again is asked first."""

    name = "repeat_first"
    remembers = True

    def __init__(self, revisit: timedelta | None = None) -> None:
        self._revisit = revisit

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Standing:
        if known is None and arrival.news == 1:
            return Standing(seconds(now), now)
        asked_at = known.visited_at if known is not None else None
        return Standing(_REPEATED - (seconds(asked_at) if asked_at else 0.0), now, moves=True)

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Standing:
        is_repeated = visit.task.priority > _REPEATED / 2
        priority = _REPEATED - seconds(visit.at) if is_repeated or self._revisit is None else visit.task.priority
        return Standing(priority, None if self._revisit is None else visit.at + self._revisit)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)
