"""Reports that take long are worked out beside the requests, one at a time each, and kept in the store with their age."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.ports import Clock, Database
from bowerbird.store.prepared_reports import Prepared, keep_prepared, read_prepared

_log = logging.getLogger(__name__)
Make = Callable[[], Awaitable[str]]
"""Works a report out, as a JSON document."""


class PreparedReport(Struct, frozen=True, kw_only=True):
    """A report as a page shows it."""

    made: Prepared | None
    """As it was last worked out; None: never."""
    since: datetime | None
    """Since when it is being worked out anew; None: it is not."""
    failed: str
    """Why the last try came to nothing; empty: it did not."""


class Preparing:
    """Works reports out in the background of one dashboard."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._tasks: dict[str, tuple[asyncio.Task[None], datetime]] = {}
        self._failed: dict[str, str] = {}

    async def report(self, name: str) -> PreparedReport:
        async with self._database.reading() as tx:
            made = await read_prepared(tx, name)
        running = self._tasks.get(name)
        return PreparedReport(made=made, since=running[1] if running else None, failed=self._failed.get(name, ""))

    def begin(self, name: str, make: Make) -> bool:
        """Begins to work a report out; False when that is under way already."""
        if name in self._tasks:
            return False
        task = asyncio.create_task(self._make(name, make), name=f"preparing {name}")
        self._tasks[name] = (task, self._clock.now())
        return True

    async def fresh(self, name: str, make: Make, lasts: timedelta) -> PreparedReport:
        """The report as it is known; one that is missing or older than this is begun anew."""
        known = await self.report(name)
        is_old = known.made is None or self._clock.now() - known.made.made_at >= lasts
        if is_old and known.since is None and not known.failed:
            self.begin(name, make)
            return await self.report(name)
        return known

    async def done(self, name: str) -> None:
        """Returns when the report is no longer being worked out."""
        if name in self._tasks:
            await self._tasks[name][0]

    async def _make(self, name: str, make: Make) -> None:
        at, watch = self._clock.now(), self._clock.stopwatch()
        try:
            document = await make()
            made = Prepared(at, timedelta(seconds=self._clock.stopwatch() - watch), document)
            async with self._database.transaction() as tx:
                await keep_prepared(tx, name, made)
            self._failed.pop(name, None)
        except Exception as error:
            # It is shown where the report would be; what was worked out before stays.
            _log.warning("%.200r could not be worked out: %s: %.300r", name, type(error).__name__, str(error))
            self._failed[name] = f"{type(error).__name__}: {error}"
        finally:
            self._tasks.pop(name, None)
