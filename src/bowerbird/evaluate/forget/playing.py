"""A crawl during which people are forgotten, opt out and are suspended, and posts are deleted; and where that is searched for."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from bowerbird.clock import RealClock
from bowerbird.db.files.backup import back_up, restore
from bowerbird.db.files.rewriting import rewrite
from bowerbird.evaluate.forget.choosing import Leaving, choose
from bowerbird.evaluate.forget.exporting import clean_exports, found_in_exports, write_exports
from bowerbird.evaluate.forget.files import store_files
from bowerbird.evaluate.forget.leaving import LeavingWorld
from bowerbird.evaluate.forget.searching import found_in, found_in_quarantine, found_in_tables
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.modules.media.files import MediaFolder
from bowerbird.ports import Clock
from bowerbird.simulated.service import Setup
from bowerbird.store.absences.forgetting import forget_as_in
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.opening import open_store

_FLOW = 'flow = "timelines"\nconcurrency = 4'
_HYDRATE = 'name = "look"\nflow = "hydrate"'


class Size(Struct, frozen=True):
    """How much is played."""

    accounts: int = 60
    each: int = 4
    """Accounts that leave in each of the ways."""
    hours: int = 3
    """Virtual time before anybody leaves, after it, and of the crawl that goes on."""


class Played(Struct):
    """Who left, and how much was to be found of them before."""

    leaving: Leaving
    before: int = 0
    exported: int = 0
    quarantined: int = 0
    pictures: int = 0


class Stage(Struct, frozen=True):
    """Where one crawl is played."""

    setup: Setup
    store: str
    folder: Path
    size: Size

    @property
    def backup(self) -> Path:
        return self.folder / "before.backup.db"

    @property
    def exports(self) -> Path:
        return self.folder / "exports"

    @property
    def media(self) -> MediaFolder:
        return MediaFolder(str(self.folder / "media"))

    async def play(self, clock: Clock) -> Played:
        """A crawl in which people are forgotten; then the world changes, and the same crawl goes on beside another one."""
        world = LeavingWorld(self.setup.world)
        played = await self._first(Laboratory(self.setup, clock, world=world), clock)
        leaving = played.leaving
        world.delete(leaving.deleted)
        world.suspend(leaving.suspended)
        world.opt_out(leaving.signing)
        later = Laboratory(self.setup, clock, world=world)
        (self.folder / "opt-outs.txt").write_text("\n".join(leaving.listed))
        await self._crawl(later, clock, _FLOW, later.keys(), f'[consent]\nopt_out = "{self.folder}/opt-outs.txt"\n')
        await self._crawl(later, clock, _HYDRATE, leaving.keys, "")
        return played

    async def _first(self, laboratory: Laboratory, clock: Clock) -> Played:
        plan = laboratory.plan(_FLOW, laboratory.keys(), self._more(), store=self.store)
        async with laboratory.crawl(plan) as crawl:
            running = asyncio.create_task(laboratory.run(crawl))
            await clock.sleep_until(clock.now() + timedelta(hours=self.size.hours))
            # The crawl goes on meanwhile.
            await back_up(self.store, self.backup, clock)
            played = Played(await choose(crawl.database, laboratory, self.size.each))
            leaving = played.leaving
            await write_exports(crawl.database, self.exports, clock)
            played.exported = len(found_in_exports(self.exports, leaving.secrets))
            played.before = len(await found_in_tables(crawl.database, leaving.secrets))
            played.quarantined = len(await found_in_quarantine(crawl.database, leaving.secrets))
            played.pictures = self.pictures_left(leaving)
            wish = Wish(who="evaluation", why="measured", users=frozenset(leaving.forgotten))
            await Forgetter(crawl.database, clock, self.media.remove).forget(wish)
            await clock.sleep_until(clock.now() + timedelta(hours=self.size.hours))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return played

    async def _crawl(self, laboratory: Laboratory, clock: Clock, flow: str, seeds: list[str], more: str) -> None:
        plan = laboratory.plan(flow, seeds, f"{more}{self._more()}", store=self.store)
        async with laboratory.crawl(plan) as crawl:
            running = asyncio.create_task(laboratory.run(crawl))
            await clock.sleep_until(clock.now() + timedelta(hours=self.size.hours))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def _more(self) -> str:
        # Statistics are made of content too, and must keep none of it.
        return f'[media]\nfolder = "{self.folder}/media"\n[modules.statistics]\nevery = "6h"\n'

    def pictures_left(self, leaving: Leaving) -> int:
        return sum(self.media.find(each) is not None for each in leaving.media)

    async def search(self, leaving: Leaving) -> dict[str, int]:
        """How much is left, by place."""
        clock, secrets, restored = RealClock(), leaving.secrets, str(self.folder / "restored.db")
        await rewrite(self.store, clock)
        await restore(self.backup, restored, clock)
        async with open_store(self.store, clock) as known:
            found = {
                "tables and payloads": len(await found_in_tables(known, secrets)),
                "quarantine": len(await found_in_quarantine(known, secrets)),
                "media folder": self.pictures_left(leaving),
            }
            await clean_exports(known, self.exports, clock)
            found["earlier exports"] = len(found_in_exports(self.exports, secrets))
            await write_exports(known, self.folder / "new", clock)
            found["new exports"] = len(found_in_exports(self.folder / "new", secrets))
            async with open_store(restored, clock) as database:
                await forget_as_in(known, database, clock)
                found["restored backup"] = len(await found_in_tables(database, secrets))
        await rewrite(restored, clock)
        files = [*await store_files(restored), *await store_files(self.store)]
        found["bytes"] = sum(len(found_in(path.read_bytes(), secrets)) for path in files if path.is_file())
        return found
