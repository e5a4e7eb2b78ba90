"""Times as people write them, on a command line or in a form."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bowerbird.errors import UserError

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FIRST_YEAR, _LAST_YEAR = 1000, 9998
"""Of times that can be moved by a day, or into another zone."""


def moment(text: str) -> datetime:
    """A day or a moment, in UTC where no zone is said: `2026-05-01`, `2026-05-01T12:30`, `2026-05-01T12:30+02:00`."""
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UserError(f"{text[:40]!r} is no time", "write a day (2026-01-31) or a moment (2026-01-31T12:00), in UTC") from None
    if not _FIRST_YEAR <= when.year <= _LAST_YEAR:
        raise UserError(f"{text[:40]!r} lies beyond what can be counted", f"write a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def end_moment(text: str) -> datetime:
    """The same for an end: a day ends when the next one begins."""
    return moment(text) + (timedelta(days=1) if _DAY.fullmatch(text.strip()) else timedelta(0))
