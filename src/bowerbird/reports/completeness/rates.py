"""How much a stretch of time that nobody covered may hold, from the rate at other times. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil, floor, sqrt

from msgspec import Struct

from bowerbird.reports.completeness.entries import Cause, Missing

WEEK = timedelta(days=7)
_NOTABLE = 0.05
"""Less than so many posts to be expected are not worth a word."""
_RHYTHM = 3.0
"""Within a day the rate of most things lies between a third and three times its mean."""


class Rate(Struct, frozen=True):
    """So many items in a time that was covered."""

    items: int
    time: timedelta

    def in_(self, span: timedelta) -> float | None:
        return self.items * (span / self.time) if self.time > timedelta(0) else None


def is_notable(recent: int, since: timedelta) -> bool:
    """Whether who wrote so many in a week is to be expected to have written some in this time."""
    return recent * (since / WEEK) >= _NOTABLE


def missed(rate: Rate, cause: Cause, why: str, after: datetime, before: datetime) -> Missing:
    """What a stretch of time holds at that rate; a stretch of days evens the rhythm of the day out."""
    span = max(before - after, timedelta(0))
    expected = rate.in_(span)
    if expected is None:
        return Missing(cause=cause, low=0, likely=0, high=None, why=why, after=after, before=before)
    swing = 1 + (_RHYTHM - 1) / max(1.0, sqrt(span / timedelta(days=1)))
    low = expected / swing - 2 * sqrt(expected / swing)
    high = expected * swing + 2 * sqrt(expected * swing) + 1
    return Missing(
        cause=cause, low=max(0, floor(low)), likely=round(expected), high=ceil(high), why=why, after=after, before=before
    )
