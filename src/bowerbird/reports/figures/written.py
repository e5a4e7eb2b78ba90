"""When posts were written, and which of them a figure is about."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import to_micros

HOUR = timedelta(hours=1) // timedelta(microseconds=1)
DAY = 24 * HOUR
# Some software claims times that cannot be: the service's own then stands for them.
WRITTEN = "(case when p.is_time_doubtful = 1 then coalesce(p.listed_at, p.created_at) else p.created_at end)"


class Chosen(Struct, frozen=True, kw_only=True):
    """Which posts count: those written in a stretch of time, in one language, on one network; all by default."""

    since: datetime | None = None
    until: datetime | None = None
    language: str | None = None
    network: str | None = None

    def condition(self) -> tuple[str, list[object]]:
        """What is true of them, for `posts p`, and its values."""
        parts: list[tuple[str, object]] = []
        if self.since is not None:
            parts.append((f"{WRITTEN} >= ?", to_micros(self.since)))
        if self.until is not None:
            parts.append((f"{WRITTEN} < ?", to_micros(self.until)))
        if self.language is not None:
            # `pt` also means `pt-BR`.
            parts.append(("(p.language = ? or p.language like ? || '-%')", self.language))
        if self.network is not None:
            parts.append(("p.network = ?", self.network))
        words = " and ".join(["p.created_at is not null", *(part for part, _ in parts)])
        return words, [value for part, value in parts for _ in range(part.count("?"))]
