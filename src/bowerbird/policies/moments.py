"""Times as the numbers that priorities and rates are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import blake2b

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
ABSENT = timedelta(days=1)
"""How long a target rests that the service says is not to be had."""


def days(moment: datetime) -> float:
    """Days since 1970, the unit of everything that rates are computed with."""
    return (moment - _EPOCH) / _DAY


def seconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds()


def lot(*parts: object) -> float:
    """A number in [0, 1) drawn by hashing: the same parts give the same lot, whatever was drawn in between."""
    digest = blake2b("\x00".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)
