"""What we know of the server's clock: bounds of its offset from ours, learned from `Date` headers. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from msgspec import Struct

_RESOLUTION = timedelta(seconds=1)
_DRIFT = 2e-5
"""How far two clocks may run apart per unit of time; old knowledge is widened by it."""
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


class Offset(Struct, frozen=True, gc=False):
    """Server time minus ours lies between `low` and `high`."""

    low: timedelta
    high: timedelta

    @property
    def width(self) -> timedelta:
        return self.high - self.low


MOST_OFFSET = timedelta(days=366)
"""A `Date` further away from our own clock is nonsense, or an attack on our arithmetic: no reading of a clock."""


def is_plausible(offset: Offset) -> bool:
    return offset.low >= -MOST_OFFSET and offset.high <= MOST_OFFSET


UNKNOWN = Offset(timedelta(seconds=-2), timedelta(seconds=2))
"""Assumed until the first `Date`: both clocks are set by network time, more or less."""


def learned(known: Offset | None, date: datetime, sent: datetime, received: datetime) -> Offset | None:
    """The bounds after one more `Date`, which is cut to whole seconds and was written between `sent` and `received`."""
    told = Offset(date - received, date - sent + _RESOLUTION)
    if not is_plausible(told):
        return known
    if known is None:
        return told
    narrowed = Offset(max(told.low, known.low), min(told.high, known.high))
    # A contradiction means that one of the clocks jumped: only the newest word counts.
    return narrowed if narrowed.low <= narrowed.high else told


def aged(known: Offset | None, passed: timedelta) -> Offset | None:
    """The bounds some time later: clocks drift."""
    if known is None or passed <= timedelta(0):
        return known
    slack = passed * _DRIFT
    return Offset(known.low - slack, known.high + slack)


@lru_cache(maxsize=64)
def parse_date(text: str) -> datetime | None:
    """The time in a `Date` header, None when it is not one (`Mon, 05 Jan 2026 00:00:00 GMT` is the only form in use)."""
    try:
        day, month, year = int(text[5:7]), _MONTHS.index(text[8:11]) // 3 + 1, int(text[12:16])
        return datetime(year, month, day, int(text[17:19]), int(text[20:22]), int(text[23:25]), tzinfo=UTC)
    except ValueError:
        return None
