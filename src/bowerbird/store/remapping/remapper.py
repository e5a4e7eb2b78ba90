"""All payloads of a store, read again batch by batch: each is one short transaction, beside whatever crawls write."""

from __future__ import annotations

from bowerbird.clock import to_micros
from bowerbird.ports import Clock, Database
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.remapping.posts import PostRemapper
from bowerbird.store.remapping.reading import ReadAgain
from bowerbird.store.remapping.runs import Run, held, note
from bowerbird.store.remapping.users import UserRemapper

BATCH = 300
"""Rows of one transaction: hundredths of a second, so that no answer of a crawl waits long for it."""


class Remapper:
    """Goes through a store once; killed, it goes on where it was, because each batch and its place are written together."""

    def __init__(self, database: Database, clock: Clock, read_again: ReadAgain, batch: int = BATCH) -> None:
        self._database, self._clock = database, clock
        self._users = UserRemapper(database, read_again, batch)
        self._posts = PostRemapper(database, read_again, batch)
        self._tombstones = Tombstones()

    async def step(self, remap: int) -> Run:
        """Reads the next batch of a run, accounts before posts; answers how far it is. After `Busy` it may be tried again."""
        async with self._database.transaction() as tx:
            run = await held(tx, self._database, remap)
            if run.is_ended:
                return run
            await self._tombstones.load(tx)
            await self._tombstones.confirm(tx, None)
            if run.users_at < run.users_to:
                await self._users.step(tx, run, self._tombstones)
            else:
                await self._posts.step(tx, run, self._tombstones, to_micros(self._clock.now()))
            run.is_ended = run.users_at >= run.users_to and run.posts_at >= run.posts_to
            await note(tx, run, self._clock.now())
        return run
