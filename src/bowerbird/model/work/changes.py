"""Changes to a crawl while it runs."""

from __future__ import annotations

from msgspec import Struct


class Reason(Struct, frozen=True):
    """Who asked for a change, a module or the user, and why, in words that a reader of the store understands."""

    who: str
    why: str
