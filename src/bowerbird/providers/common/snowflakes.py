"""Ids whose order is the order of posting."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from bowerbird.model import KeyTime, from_micros

FLAKES = KeyTime(from_micros(1_288_834_974_657_000), bits=22)
"""The numbers of X, after which others are made."""
AHEAD = timedelta(days=1)
"""How far the time of a key or an event may lie ahead of our own clock, which may be wrong itself."""
_LONGEST = 30
"""Characters of a key that is no number: ULIDs have 26."""


def order(key: str) -> tuple[int, str]:
    """Sorts ids of one service from old to new: by length, then lexically (numbers, flakes and ULIDs alike)."""
    return len(key), key


def newest(keys: Iterable[str]) -> str | None:
    return max(keys, key=order, default=None)


def oldest(keys: Iterable[str]) -> str | None:
    return min(keys, key=order, default=None)


def below(key: str) -> str:
    """The id just before a numeric one; anything else is left as it is."""
    return str(int(key) - 1) if is_number(key) and int(key) > 0 else key


def is_number(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) <= 20


def is_credible(key: str, latest: int | None) -> bool:
    """Whether a key can be that of a post: not above the highest number there can be by now."""
    if not key.isascii() or not key.isdigit():
        return len(key) <= _LONGEST
    return is_number(key) and (latest is None or int(key) <= latest)
