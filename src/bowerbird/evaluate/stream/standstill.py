"""How long this process and its disk stood still: times of ours are not known better than that."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

from bowerbird.ports import Clock

_EVERY = timedelta(milliseconds=50)


class Standstill:
    """Writes a byte again and again, and remembers the longest time that took."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.longest = timedelta(0)
        self._path = path
        self._clock = clock

    async def watch(self) -> None:
        while True:
            began = self._clock.now()
            await self._clock.sleep_until(began + _EVERY)
            await asyncio.to_thread(self._write)
            self.longest = max(self.longest, self._clock.now() - began - _EVERY)

    def _write(self) -> None:
        with self._path.open("wb") as file:
            file.write(b".")
            file.flush()
            os.fsync(file.fileno())


@asynccontextmanager
async def standing_still(path: Path, clock: Clock) -> AsyncIterator[Standstill]:
    """Watches until the block ends."""
    standstill = Standstill(path, clock)
    watch = asyncio.create_task(standstill.watch())
    try:
        yield standstill
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
