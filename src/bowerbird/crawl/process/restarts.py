"""The one loop that begins something again after it broke."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from bowerbird.model import Backoff
from bowerbird.ports import Clock

T = TypeVar("T")

RESTARTS = Backoff(first=timedelta(seconds=1), most=timedelta(minutes=5))
AWAY = Backoff(first=timedelta(seconds=2), most=timedelta(seconds=30))
"""After a database that does not answer: not for long, because others wait for it."""
STEADY = timedelta(minutes=10)
"""What ran for so long has recovered: its next crash waits shortly again."""


async def keep_running(
    run: Callable[[], Awaitable[T]],
    clock: Clock,
    crashed: Callable[[Exception, timedelta], Awaitable[bool]],
    restarts: Backoff = RESTARTS,
) -> T:
    """Runs something until it comes to its own end, and answers with that; after a crash it begins again, each time later.

    `crashed` hears what happened and how long will be waited, and says whether to begin again; if not, it is raised.
    """
    failures = 0
    while True:
        began = clock.now()
        try:
            return await run()
        except Exception as error:
            failures = 1 if clock.now() - began >= STEADY else failures + 1
            wait = restarts.wait(failures)
            if not await crashed(error, wait):
                raise
        await clock.sleep_until(clock.now() + wait)
