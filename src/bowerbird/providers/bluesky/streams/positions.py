"""Where a stream goes on, and which events are new.

The first Jetstream counts microseconds. The second has sequence numbers, but refuses one that lies before what it still has;
of a time it says instead that something was missed. So its cursor holds both: the time to ask from, and the number up to which
everything is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from bowerbird.model import Subscription, to_micros
from bowerbird.providers.bluesky.streams.channels import CHANNELS, FIREHOSE
from bowerbird.providers.bluesky.streams.subscriptions import NOW, OLDEST, chosen
from bowerbird.providers.page import CLOCK_TOLERANCE

_CURSOR = re.compile(r"(\d{1,19})(?:@(\d{1,19}))?", re.ASCII)
_REMEMBERED = 4096
LARGEST = 2**63 - 1
FIRST_TIME = 10**15
"""Jetstream reads what is smaller as a sequence number; as a time it is of 2001, before everything."""
LEAP = 10**12
"""So far ahead no number lies, unless all that follow lie there too: some hosts count events, others microseconds."""
_NEVER = 10**16
Now = Callable[[], datetime] | None
_LATE = timedelta(minutes=10)


class Position(NamedTuple):
    """A number that grows with every event and, on the second Jetstream, the time it was witnessed at."""

    number: int
    micros: int = 0

    def __str__(self) -> str:
        return f"{self.number}@{self.micros}" if self.micros else str(self.number)


def read(cursor: str | None) -> Position | None:
    found = _CURSOR.fullmatch(cursor or "")
    return Position(int(found[1]), int(found[2] or 0)) if found else None


def in_time(cursor: str | None, channel: str, now: Now) -> str | None:
    """The cursor, or, where it is a time that has not come, the earliest that the service still has: nothing is missed by it."""
    known = read(cursor)
    if known is None or now is None or channel == FIREHOSE:
        return cursor
    told = known.micros or known.number
    if told < FIRST_TIME or told <= to_micros(now() + _LATE):
        return cursor
    since = to_micros(now() - (CHANNELS[channel].reach or _LATE))
    return str(Position(0, since) if known.micros else Position(since))


def latest(now: Now) -> int:
    """The latest time that an event can be of, by our own clock, which may be wrong by a day."""
    return _NEVER if now is None else to_micros(now() + CLOCK_TOLERANCE)


def kept(micros: int, now: Now) -> int:
    """The time to go on from: never one that has not come."""
    return micros if now is None else min(micros, to_micros(now()))


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

    def __init__(self, floor: int, leap: int = 0) -> None:
        """`leap`: how far numbers may grow at once; 0: as far as they like."""
        self.floor = floor
        self.newest = floor
        self._leap = leap
        self._far = -1
        self._marks: dict[Hashable, None] = {}

    def is_new(self, number: int, mark: Hashable) -> bool:
        """Whether this event, known by its mark, lies above the floor and has not come lately."""
        if number <= self.floor:
            return False
        if number > self.newest:
            self.newest = number
        elif mark in self._marks:
            return False
        self._marks[mark] = None
        if len(self._marks) > 2 * _REMEMBERED:
            # Half of them at once: cheaper than one with each event.
            self._marks = dict.fromkeys(islice(self._marks, _REMEMBERED, None))
        return True

    def check(self, number: int) -> None:
        """Raises ValueError for a number far from all others; two that follow each other there are believed."""
        if not self._leap or self.newest < 0 or abs(number - self.newest) <= self._leap:
            return
        if self._far >= 0 and abs(number - self._far) <= self._leap:
            # Where the far ones lie below, those that came before were the lie: the next connection goes on from here.
            self.newest, self._far = number - 1, -1
            return
        self._far = number
        if number > self.newest:
            raise ValueError("an event with a number far ahead of all others")

    def restart(self) -> None:
        """The service counts anew, perhaps below everything it counted before."""
        self.floor = self.newest = -1
