"""Backups on a schedule: a copy every so often while the crawl runs, and only the newest few are kept."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bowerbird.db.backup import back_up
from bowerbird.ports import Clock

_STAMP = "%Y%m%d-%H%M%S"


class BackupPlan(Struct, frozen=True, kw_only=True):
    """`[backup]` of a crawl file."""

    every: timedelta
    folder: str
    keep: int = 7


class Keeper:
    """Takes the backups of one crawl; a restart goes on with the schedule, it does not begin it anew."""

    def __init__(self, name: str, store: str, plan: BackupPlan, clock: Clock) -> None:
        self._name = name
        self._store = store
        self._plan = plan
        self._clock = clock
        self._folder = Path(plan.folder)

    async def run(self) -> None:
        while True:
            await self._clock.sleep_until(self._due())
            await self.take()

    async def take(self) -> Path:
        """Takes a backup now and removes those beyond the number kept."""
        path = self._next()
        await back_up(self._store, path, self._clock)
        self._tidy()
        return path

    def _next(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / f"{self._name}-{self._clock.now():{_STAMP}}.backup.db"

    def _tidy(self) -> None:
        for _, old in self.taken()[: -self._plan.keep]:
            old.unlink(missing_ok=True)

    def taken(self) -> list[tuple[datetime, Path]]:
        """The backups there are, oldest first; other files are none of our business."""
        pattern = re.compile(rf"{re.escape(self._name)}-(\d{{8}}-\d{{6}})\.backup\.db")
        named = [(match[1], path) for path in self._folder.glob("*.backup.db") if (match := pattern.fullmatch(path.name))]
        return sorted((datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC), path) for stamp, path in named)

    def _due(self) -> datetime:
        taken = self.taken()
        return (taken[-1][0] if taken else self._clock.now()) + self._plan.every
