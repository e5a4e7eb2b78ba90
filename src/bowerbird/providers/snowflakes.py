"""Ids whose order is the order of posting."""

from __future__ import annotations

from collections.abc import Iterable


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
