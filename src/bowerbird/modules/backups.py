"""Backups on a schedule: a copy every so often while the crawl runs, and only the newest few are kept.

However many workers a crawl has, one of them takes each copy: the one that has the claim to it. `backups` says when it is due.
"""

from __future__ import annotations

import re
from asyncio import create_task
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from bowerbird.clock import from_micros, to_micros
from bowerbird.db.files.backup import back_up
from bowerbird.errors import Busy, DiskFull, Fenced, StoreError
from bowerbird.flows.files.sections.backup_plan import BackupPlan
from bowerbird.model import Claim
from bowerbird.ports import Claims, Clock, Database, Transaction

_STAMP = "%Y%m%d-%H%M%S"
_SOON = timedelta(seconds=1)
_GLANCE = timedelta(seconds=30)
"""How often a worker looks whether the one that takes the copy is through with it, or dead."""
_HOLD = timedelta(hours=1)
"""How long the claim to a copy lasts unless it is renewed; a worker that dies over one is replaced at once."""
_RENEWAL = _HOLD / 3
# From the crawl's start, not from this process's: one that is restarted often gets its copies too.
_ENROL = """
insert into backups (crawl, due) select crawl, created_at + cast(? as bigint) from crawls where name = ?
on conflict (crawl) do update set due = ? where backups.due > ?
"""
_DUE = "select due from backups where crawl = (select crawl from crawls where name = ?)"
_NEXT = "update backups set due = ? where crawl = (select crawl from crawls where name = ?)"


Copies = Callable[[], Awaitable[None]]


class Turns:
    """Says which worker takes the next copy of a crawl, and when."""

    def __init__(self, database: Database, crawl: str, claims: Claims, every: timedelta, clock: Clock) -> None:
        self._database = database
        self.crawl = crawl
        self._claims = claims
        self._every = every
        self.clock = clock
        self._claim: Claim | None = None

    async def enrol(self) -> None:
        """Makes the schedule where there is none; a shorter one than before holds from now on."""
        soonest = to_micros(self.clock.now() + self._every)
        async with self._database.transaction() as tx:
            await tx.execute(_ENROL, self._every // timedelta(microseconds=1), self.crawl, soonest, soonest)

    async def take(self) -> datetime | None:
        """None when the copy is due and ours to take, until it is handed on or we are dead; otherwise when to ask again."""
        now = self.clock.now()
        async with self._database.transaction() as tx:
            if (due := await self._due(tx)) > now:
                return due
            claim = await self._claims.take(tx, f"backup {self.crawl}", now + _HOLD, now)
            if isinstance(claim, datetime):
                # Never at once: who was taken for dead is told so a moment later.
                return max(min(claim, now + _GLANCE), now + _SOON)
            # While we waited for the claim its last owner may have taken the copy.
            if (due := await self._due(tx)) > now:
                await self._claims.release(tx, claim)
                return due
        self._claim = claim
        return None

    async def keep(self) -> None:
        """Renews the claim again and again while the copy is taken, as long as it is ours."""
        with suppress(Fenced):
            while self._claim is not None:
                await self.clock.sleep_until(self.clock.now() + _RENEWAL)
                await self._renew(self._claim)

    async def hand_on(self, due: datetime) -> None:
        """Says when the next copy is due; changes nothing when another worker took over meanwhile."""
        claim, self._claim = self._claim, None
        async with self._database.transaction() as tx:
            if claim is not None and await self._claims.release(tx, claim):
                await tx.execute(_NEXT, to_micros(due), self.crawl)

    async def _renew(self, claim: Claim) -> None:
        # What is busy now is asked again long before the claim runs out.
        with suppress(Busy, DiskFull):
            async with self._database.transaction() as tx:
                await self._claims.renew(tx, claim, self.clock.now() + _HOLD)

    async def _due(self, tx: Transaction) -> datetime:
        row = await tx.fetch_one(_DUE, self.crawl)
        if row is None:
            raise LookupError(f"the schedule of {self.crawl}'s backups is gone from the database")
        return from_micros(row["due"])


class BackupTaker:
    """Takes the backups of one crawl when it is this worker's turn; a restart goes on with the schedule."""

    def __init__(self, store: str, plan: BackupPlan, turns: Turns, copies: Copies | None = None) -> None:
        """`copies`: copies what lies beside the store, its media."""
        self._copies = copies
        self._name = turns.crawl
        self._store = store
        self._plan = plan
        self._clock = turns.clock
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
        began, renewing = self._clock.now(), create_task(self._turns.keep())
        try:
            await self.take()
        except Exception:
            # Another machine may have the room that this one lacks.
            await self._turns.hand_on(began)
            raise
        finally:
            renewing.cancel()
        await self._turns.hand_on(began + self._plan.every)

    async def take(self) -> Path:
        """Takes a backup now and removes those beyond the number kept, and what died before it was whole."""
        self._make_folder()
        for unfinished in self._files(r"\.\w+\.unfinished.*"):
            unfinished.unlink(missing_ok=True)
        path = self._folder / f"{self._name}-{self._clock.now():{_STAMP}}.backup.db"
        await back_up(self._store, path, self._clock)
        if self._copies is not None:
            await self._copies()
        for old in self.taken()[: -self._plan.keep]:
            old.unlink(missing_ok=True)
        return path

    def _make_folder(self) -> None:
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoreError(f"backups cannot be written: {error.filename} is not a folder", code="file_unwritable") from error

    def taken(self) -> list[Path]:
        """The backups there are, oldest first; other files are none of our business."""
        return sorted(self._files(""))

    def _files(self, ending: str) -> Iterator[Path]:
        pattern = re.compile(rf"{re.escape(self._name)}-\d{{8}}-\d{{6}}\.backup\.db{ending}")
        return (path for path in self._folder.glob("*") if pattern.fullmatch(path.name))
