"""Changes to a crawl while it runs."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class TaskState(StrEnum):
    """Where a task is in its life."""

    WAITING = "waiting"
    LEASED = "leased"
    ASLEEP = "asleep"
    """Until its due time, or until an edge wakes it."""
    FAILED = "failed"
    """Given up; a new start is a new chance."""
    RETIRING = "retiring"
    """To be retired as soon as the call ends that asks about it."""
    RETIRED = "retired"
    """Taken out of its lane for good: asked again only when it is added anew."""


class Reason(Struct, frozen=True):
    """Who asked for a change, a module or the user, and why, in words that a reader of the store understands."""

    who: str
    why: str
