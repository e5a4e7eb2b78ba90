"""Ids of the X network: numbers, from late 2010 on with the time of taking in in their upper bits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

PREFIX = "x:"
_FLAKE_EPOCH_MS = 1_288_834_974_657
_FIRST_FLAKE = 29_700_859_247
"""Smaller post ids were counted up and say nothing about time."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPENED = datetime(2006, 3, 21, tzinfo=UTC)
_SLACK = timedelta(seconds=2)


def is_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19


def key(value: str | int | None) -> str:
    """The id as text; raises ValueError for what is none."""
    text = str(value) if value is not None else ""
    if not is_key(text):
        raise ValueError(f"an id is {text[:40]!r}, not a number")
    return text


def global_id(value: str | int | None) -> str | None:
    """The id with the network's prefix, or None where there is none or it cannot be one."""
    text = str(value) if value is not None else ""
    return PREFIX + text if is_key(text) else None


def taken_in(post: str) -> datetime | None:
    """When the service took the post in, by its id."""
    if not is_key(post) or int(post) < _FIRST_FLAKE:
        return None
    return _EPOCH + timedelta(milliseconds=(int(post) >> 22) + _FLAKE_EPOCH_MS)


def earlier(post: str, span: timedelta) -> str:
    """The key that a post taken in so much earlier would have."""
    return post if taken_in(post) is None else str(max(0, int(post) - (span // timedelta(milliseconds=1) << 22)))


def is_doubtful(created_at: datetime | None, listed_at: datetime | None) -> bool:
    """Whether a claimed time cannot be true: before the network opened, or after the service had the post."""
    if created_at is None:
        return False
    return created_at < _OPENED or (listed_at is not None and created_at > listed_at + _SLACK)
