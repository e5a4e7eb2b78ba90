"""Backups on a schedule: a copy every so often while the crawl runs, and only the newest few are kept.

However many workers a crawl has, one of them takes each copy. Its turn is a row of `sequences`: when the next copy is due or,
below zero, the number of the worker that is taking it now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from bowerbird.clock import from_micros, to_micros
from bowerbird.db.backup import back_up
from bowerbird.errors import StoreError
from bowerbird.flows.files.backup_plan import BackupPlan
from bowerbird.ports import Clock, Database

_STAMP = "%Y%m%d-%H%M%S"
_GLANCE = timedelta(seconds=30)
"""How often a worker looks whether the one that takes the copy is through with it, or dead."""
# From the crawl's start, not from this process's: one that is restarted often gets its copies too.
_ENROL = """
insert into sequences (name, value) select ?, created_at + ? from crawls where name = ?
on conflict (name) do update set value = ? where sequences.value > ?
"""
_CLAIM = """
update sequences set value = ? where name = ? and (value between 0 and ? or value = ?
    or -value in (select worker from workers where ended_at is not null))
"""
_NEXT = "select value from sequences where name = ?"
_HAND_ON = "update sequences set value = ? where name = ? and value = ?"


class Turns:
    """Says which worker takes the next copy of a crawl, and when."""

    def __init__(self, database: Database, crawl: str, me: Callable[[], int], every: timedelta, clock: Clock) -> None:
        self._database = database
        self._crawl = crawl
        self._row = f"backup {crawl}"
        self._worker = me
        self._every = every
        self._clock = clock

    @property
    def _me(self) -> int:
        return -self._worker()

    async def enrol(self) -> None:
        """Makes the schedule where there is none; a shorter one than before holds from now on."""
        soonest = to_micros(self._clock.now() + self._every)
        async with self._database.transaction() as tx:
            every = self._every // timedelta(microseconds=1)
            await tx.execute(_ENROL, self._row, every, self._crawl, soonest, soonest)

    async def take(self) -> datetime | None:
        """None when the copy is due and ours to take, until it is handed on or we are dead; otherwise when to ask again."""
        now = self._clock.now()
        async with self._database.transaction() as tx:
            if await tx.execute(_CLAIM, self._me, self._row, to_micros(now), self._me):
                return None
            row = await tx.fetch_one(_NEXT, self._row)
        if row is None:
            raise LookupError(f"the schedule of {self._crawl}'s backups is gone from the database")
        return from_micros(row["value"]) if row["value"] > 0 else now + _GLANCE

    async def hand_on(self, due: datetime) -> None:
        """Says when the next copy is due; changes nothing when another worker took over meanwhile."""
        async with self._database.transaction() as tx:
            await tx.execute(_HAND_ON, to_micros(due), self._row, self._me)


class Keeper:
    """Takes the backups of one crawl when it is this worker's turn; a restart goes on with the schedule."""

    def __init__(self, name: str, store: str, plan: BackupPlan, clock: Clock, turns: Turns) -> None:
        self._name = name
        self._store = store
        self._plan = plan
        self._clock = clock
        self._turns = turns
        self._folder = Path(plan.folder)

    async def run(self) -> None:
        await self._turns.enrol()
        while True:
            later = await self._turns.take()
            if later is None:
                await self._take_turn()
            else:
                await self._clock.sleep_until(later)

    async def _take_turn(self) -> None:
        began = self._clock.now()
        try:
            await self.take()
        except Exception:
            # Another machine may have the room that this one lacks.
            await self._turns.hand_on(began)
            raise
        await self._turns.hand_on(began + self._plan.every)

    async def take(self) -> Path:
        """Takes a backup now and removes those beyond the number kept, and what died before it was whole."""
        self._make_folder()
        for unfinished in self._files(r"\.\w+\.unfinished.*"):
            unfinished.unlink(missing_ok=True)
        path = self._folder / f"{self._name}-{self._clock.now():{_STAMP}}.backup.db"
        await back_up(self._store, path, self._clock)
        for old in self.taken()[: -self._plan.keep]:
            old.unlink(missing_ok=True)
        return path

    def _make_folder(self) -> None:
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoreError(f"backups cannot be written: {error.filename} is not a folder") from error

    def taken(self) -> list[Path]:
        """The backups there are, oldest first; other files are none of our business."""
        return sorted(self._files(""))

    def _files(self, ending: str) -> Iterator[Path]:
        pattern = re.compile(rf"{re.escape(self._name)}-\d{{8}}-\d{{6}}\.backup\.db{ending}")
        return (path for path in self._folder.glob("*") if pattern.fullmatch(path.name))
