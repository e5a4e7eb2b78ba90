"""Waiting for our own database: what it refuses now it may take a moment later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from bowerbird.errors import Busy, DiskFull
from bowerbird.model import Backoff
from bowerbird.ports import Clock

T = TypeVar("T")

PATIENCE = timedelta(minutes=10)
"""How long our own database may refuse before the crawl stops with a message."""
_TRIES = Backoff(first=timedelta(milliseconds=100), most=timedelta(seconds=5))


async def patiently(work: Callable[[], Awaitable[T]], clock: Clock, blocked: Callable[[str, datetime], None]) -> T:
    """Tries again while our own database is busy or full; gives up with its message after a while."""
    failures = 0
    give_up = clock.now() + PATIENCE
    while True:
        try:
            return await work()
        except (Busy, DiskFull) as error:
            now = clock.now()
            if now >= give_up:
                raise
            blocked(str(error), now)
            failures += 1
            await clock.sleep_until(now + _TRIES.wait(failures))
