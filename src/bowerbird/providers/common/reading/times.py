"""Times as the networks write them, read without ever raising."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"\d{1,12}", re.ASCII)
_CLASSIC = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d\d?) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d) (\d{4})", re.ASCII)


def iso(text: str | None) -> datetime | None:
    """A time or date of ISO 8601 as UTC; without a zone it is taken as UTC."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is UTC:
            return when
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


# The same texts come again and again: when an account was made is said with each of its posts.
@lru_cache(1 << 15)
def classic(text: str | None) -> datetime | None:
    """A time such as `Thu Nov 08 02:31:41 +0000 2012`, read without the locale that `strptime` would ask."""
    found = _CLASSIC.fullmatch(text or "")
    if found is None:
        return None
    month, day, hour, minute, second, sign, zone_hours, zone_minutes, year = found.groups()
    zone = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
    try:
        local = datetime(int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second), tzinfo=UTC)
        return local - zone if sign == "+" else local + zone
    except (KeyError, ValueError, OverflowError):
        return None


def epoch(text: str | None) -> datetime | None:
    """Whole seconds since 1970."""
    if not text or not _SECONDS.fullmatch(text):
        return None
    try:
        return _EPOCH + timedelta(seconds=int(text))
    except OverflowError:
        return None


def moment(text: str | None) -> datetime | None:
    """A time given either way: compatible servers disagree about the form of a reset time."""
    return epoch(text) or iso(text)
