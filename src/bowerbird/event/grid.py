"""The frames of a crawl: the same for every worker, whenever it looks."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.model import EPOCH

_AWAY = timedelta(minutes=1)
_LONG = timedelta(days=1)
"""A worker that sees to its frames is never so far behind."""


class Grid(Struct, frozen=True):
    """Frames lie side by side since the epoch. Each is decided a little after its end, when what was written in it has come."""

    frame: timedelta
    grace: timedelta

    def began(self, when: datetime) -> datetime:
        """When the frame began that this moment lies in."""
        return EPOCH + (when - EPOCH) // self.frame * self.frame

    def due(self, began: datetime) -> datetime:
        """When a frame is decided."""
        return began + self.frame + self.grace

    def missed(self, watched_at: datetime, now: datetime) -> datetime:
        """The last frame that is not decided because nobody heard enough of it, given when the crawl was seen to run last: no
        keyword shall leave because a crawl was not running."""
        is_away = now - watched_at > max(self.frame / 2, _AWAY)
        return self.began(now if is_away else watched_at - _LONG) - self.frame
