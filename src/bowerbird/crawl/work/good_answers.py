"""How often services have answered well: what a refusal or a silence is weighed against."""

from __future__ import annotations

from collections import Counter

from bowerbird.crawl.work.lanes import Lane
from bowerbird.model import Lease


class GoodAnswers:
    """Counts since the start of this process; lost with it."""

    def __init__(self) -> None:
        self.of_lane: Counter[int] = Counter()
        self.of_service: Counter[str] = Counter()
        self.with_credential: Counter[tuple[str, str | None]] = Counter()
        """By service and credential; an answer such as "there is no such account" counts here too."""
        self.last: dict[int, str] = {}
        """A target of each lane that was answered."""

    def add(self, lane: Lane, lease: Lease) -> None:
        """One more page that was answered as it was asked."""
        self.of_lane[lane.lane] += 1
        self.of_service[lane.service.name] += 1
        self.last[lane.lane] = lease.tasks[0].target
