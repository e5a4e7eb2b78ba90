"""How a running crawl is shown. Apart from those who do it: what pictures are drawn with takes long to load."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from bowerbird.reports.status.glimpse import Glimpse


class View(Protocol):
    """Shows glimpses of a crawl until it is closed."""

    every: timedelta

    def show(self, glimpse: Glimpse) -> None: ...

    def say(self, words: str) -> None:
        """Something the user must know at once."""
        ...

    def close(self) -> None: ...
