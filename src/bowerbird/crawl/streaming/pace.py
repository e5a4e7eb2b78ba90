"""How much a stream brings in its busiest second: where each post costs, so much must be set aside while it is open."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

_SECOND = timedelta(seconds=1)
_HALF_LIFE = timedelta(minutes=10)
"""In which a burst that does not come again loses half its weight."""


class Pace:
    """Counts what a stream brings, second by second."""

    def __init__(self) -> None:
        self._recent: deque[tuple[datetime, int]] = deque()
        self._most = 0.0
        self._at: datetime | None = None

    @property
    def busiest(self) -> int:
        """The most that came within one second, not long ago."""
        return round(self._most)

    def recall(self, busiest: int) -> None:
        """Begins with what is known from before, whoever listened then."""
        self._most = max(self._most, float(busiest))

    def heard(self, results: int, at: datetime) -> None:
        self._recent.append((at, results))
        while at - self._recent[0][0] >= _SECOND:
            self._recent.popleft()
        passed = max(at - self._at, timedelta(0)) if self._at is not None else timedelta(0)
        self._at = at
        self._most = max(self._most * 0.5 ** (passed / _HALF_LIFE), float(sum(count for _, count in self._recent)))
