"""Where a stream goes on, and which events are new.

The first Jetstream counts microseconds. The second has sequence numbers, but refuses one that lies before what it still has;
of a time it says instead that something was missed. So its cursor holds both: the time to ask from, and the number up to which
everything is known.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable
from typing import NamedTuple

from bowerbird.model import Subscription
from bowerbird.providers.bluesky.streams.channels import FIREHOSE
from bowerbird.providers.bluesky.streams.subscriptions import NOW, OLDEST, chosen

_CURSOR = re.compile(r"(\d{1,19})(?:@(\d{1,19}))?", re.ASCII)
_REMEMBERED = 4096
LARGEST = 2**63 - 1
FIRST_TIME = 10**15
"""Jetstream reads what is smaller as a sequence number; as a time it is of 2001, before everything."""


class Position(NamedTuple):
    """A number that grows with every event and, on the second Jetstream, the time it was witnessed at."""

    number: int
    micros: int = 0

    def __str__(self) -> str:
        return f"{self.number}@{self.micros}" if self.micros else str(self.number)


def read(cursor: str | None) -> Position | None:
    found = _CURSOR.fullmatch(cursor or "")
    return Position(int(found[1]), int(found[2] or 0)) if found else None


def asked(wanted: Subscription, cursor: str | None) -> int | None:
    """What to ask the service to start from; None for its present."""
    known = read(cursor)
    if known is not None:
        return known.micros or known.number
    start = chosen(wanted, "start") or NOW
    if start == NOW:
        return None
    if start == OLDEST:
        return 0 if wanted.channel == FIREHOSE else FIRST_TIME
    return max(int(start), FIRST_TIME)


class Order:
    """Tells new events from those that were saved before, or came already: delivery is at least once, and not always in order."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.newest = floor
        self._marks: set[Hashable] = set()
        self._queue: deque[Hashable] = deque()

    def is_new(self, number: int, mark: Hashable) -> bool:
        """Whether this event, known by its mark, lies above the floor and has not come lately."""
        if number <= self.floor:
            return False
        if number > self.newest:
            self.newest = number
        elif mark in self._marks:
            return False
        self._remember(mark)
        return True

    def restart(self) -> None:
        """The service counts anew, perhaps below everything it counted before."""
        self.floor = self.newest = -1

    def _remember(self, mark: Hashable) -> None:
        self._marks.add(mark)
        self._queue.append(mark)
        if len(self._queue) > _REMEMBERED:
            self._marks.discard(self._queue.popleft())
