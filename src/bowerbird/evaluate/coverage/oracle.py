"""An oracle: it looks an account up at the moment of its next post, as no policy can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from bowerbird.model import Arrival, Draw, Placement, Task, Visit

NextPost = Callable[[str, datetime], datetime | None]
"""When an account writes next after a time, or that it does not."""


class Oracle:
    """A ranker that knows the truth; who has waited longest is first."""

    name = "oracle"
    remembers = False

    def __init__(self, next_post: NextPost) -> None:
        self._next_post = next_post

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        return Placement(0.0, self._next_post(arrival.target, now))

    def continued(self, visit: Visit) -> bytes | None:
        return None

    def visited(self, visit: Visit) -> Placement:
        return Placement(0.0, self._next_post(visit.task.target, visit.at))

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)
