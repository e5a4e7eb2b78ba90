"""`bowerbird crawl` of flow `listen` as a process: started, killed, waited for and ended, its stream looked at meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from crawls import INTERRUPTED, PATIENCE, CrawlFailed, ended_well, look
from msgspec import Struct

from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.ports import Clock

_GLANCE = timedelta(milliseconds=100)
_STANDING = """
select s.state, s.reason, s.cursor, s.connections, s.events,
    (select count(*) from tasks where state in ('waiting', 'leased') or attempts > 0) as tasks from streams s
"""


class Placement(Struct, frozen=True):
    """One stream as its store knows it by now."""

    state: str = ""
    reason: str | None = None
    cursor: str | None = None
    connections: int = 0
    events: int = 0
    tasks: int = 0
    """Questions that the stream has led to and nobody has asked yet."""

    def has_heard(self, head: int) -> bool:
        return int((self.cursor or "0").partition(" ")[0]) >= head and not self.tasks


class Listening:
    """One listener, whatever process plays it just now."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self.file = file
        self.store = str(file.with_suffix(".db"))
        self._clock = clock
        self._process: CrawlProcess | None = None

    async def start(self) -> None:
        self._process = await CrawlProcess.start(self.file)

    async def kill(self) -> None:
        if self._process is not None:
            await self._process.kill()

    async def stop(self) -> None:
        """Ends it as Ctrl-C does: in good order."""
        process = self._running()
        os.kill(process.pid, signal.SIGINT)
        await ended_well(process, INTERRUPTED)

    async def standing(self) -> Placement:
        row = await look(self.store, _STANDING, "streams", self._clock)
        return Placement(**dict(row)) if row else Placement()

    async def until_connected(self, before: int) -> int:
        """Waits for one more connection than `before`; answers how many there have been."""
        return (await self._until(lambda now: now.connections > before, "a connection")).connections

    async def until_heard(self, head: int) -> Placement:
        """Waits until everything up to that event is saved, and everything asked about it is answered."""
        return await self._until(lambda now: now.has_heard(head), f"event {head}")

    async def until_at_oldest(self) -> Placement:
        """Waits until it listens from the oldest event that the host has."""
        return await self._until(lambda now: now.state == "live" and (now.cursor or "").startswith("0 "), "the oldest event")

    async def _until(self, is_there: Callable[[Placement], bool], what: str) -> Placement:
        give_up = self._clock.now() + PATIENCE
        while not is_there(standing := await self.standing()):
            if self._clock.now() > give_up or await self._running().ends_within(_GLANCE):
                raise CrawlFailed(f"{self.file.stem} waited for {what} in vain: {standing}; {self._running().last_words()}")
        return standing

    def _running(self) -> CrawlProcess:
        if self._process is None:
            raise CrawlFailed(f"{self.file.stem} was never started")
        return self._process
