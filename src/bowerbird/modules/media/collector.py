"""Fetches the media of stored posts, each id once, while the crawl goes on; what its author takes back leaves the disk too."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from bowerbird.flows.files.sections.media_plan import MediaPlan
from bowerbird.model import Fetched
from bowerbird.modules.media.files import MediaFolder, StoredFile
from bowerbird.modules.media.rows import MediaFileRows, Wanted
from bowerbird.ports import Claims, Clock, Database, MediaTransport

AT_ONCE = 4
_GLANCE = timedelta(minutes=1)
"""How often it looks for new posts when nothing is due."""


class Collector:
    """One worker's part in fetching; another may work beside it."""

    def __init__(self, database: Database, clock: Clock, transport: MediaTransport, plan: MediaPlan, claims: Claims) -> None:
        self._database = database
        self._clock = clock
        self._transport = transport
        self._plan = plan
        self._files = MediaFileRows(database, claims, plan.kinds)
        self._shelf = MediaFolder(plan.folder)
        self._called = asyncio.Event()
        self._is_ended = False
        self._is_last = False

    def end(self) -> None:
        """Begins nothing new; what is being fetched comes home."""
        self._is_ended = True
        self._called.set()

    def finish(self) -> None:
        """No more posts will come: fetches what is due now, and ends."""
        self._is_last = True
        self._called.set()

    async def run(self) -> None:
        """Returns when it was told to end, or has finished."""
        fetching: set[asyncio.Task[None]] = set()
        try:
            while not self._is_ended:
                is_last, due = self._is_last, await self._glance()
                if due is not None and due <= self._clock.now():
                    fetching |= await self._start(AT_ONCE - len(fetching))
                if is_last and not fetching:
                    return
                fetching = await self._wait(fetching, due)
            await asyncio.gather(*fetching)
        finally:
            for task in fetching:
                task.cancel()
            await asyncio.gather(*fetching, return_exceptions=True)

    async def _glance(self) -> datetime | None:
        """Takes in what is new, if anything is; says when the next file is due. Mostly it only reads."""
        async with self._database.reading() as tx:
            has_news = await self._files.has_news(tx)
        if has_news:
            await self.look()
        async with self._database.reading() as tx:
            return await self._files.next_due(tx, self._clock.now())

    async def look(self) -> None:
        """Learns of new media, and clears away what no post shows any more."""
        more = True
        while more and not self._is_ended:
            async with self._database.transaction() as tx:
                more = await self._files.take_in(tx, self._clock.now())
                doubts = await self._files.doubts(tx)
                # The file first: should we be killed now, the doubt is still written down.
                for each in doubts:
                    if not each.is_shown:
                        self._shelf.remove(each.media)
                await self._files.resolve(tx, doubts)
            more = more or bool(doubts)

    async def _start(self, room: int) -> set[asyncio.Task[None]]:
        if room <= 0:
            return set()
        async with self._database.transaction() as tx:
            claimed = await self._files.claim(tx, room, self._clock.now())
        return {asyncio.create_task(self.fetch(each), name=f"media {each.file}") for each in claimed}

    async def _wait(self, fetching: set[asyncio.Task[None]], due: datetime | None) -> set[asyncio.Task[None]]:
        """Until a place is free or, when there is nothing to do, until something is due; answers what still runs."""
        if fetching:
            done, rest = await asyncio.wait(fetching, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return rest
        later = self._clock.now() + _GLANCE
        await self._clock.wait(self._called, min(due, later) if due is not None else later)
        return set()

    async def fetch(self, wanted: Wanted) -> None:
        """One file from the network, or from the disk where a kill came between the file and its row."""
        there = self._shelf.find(wanted.media)
        if there is not None:
            await self._keep(wanted, there, "")
            return
        writing = self._shelf.begin(wanted.media)
        try:
            fetched = await self._transport.fetch(wanted.url, self._plan.max_bytes, writing.add)
            if fetched.failure:
                await self._fail(wanted, fetched)
            elif (shelved := writing.keep(fetched.type)) is not None:
                await self._keep(wanted, shelved, fetched.type)
        finally:
            writing.drop()

    async def _keep(self, wanted: Wanted, shelved: StoredFile, kind: str) -> None:
        async with self._database.transaction() as tx:
            is_kept = await self._files.keep(tx, wanted, shelved, kind, self._clock.now())
            is_unwanted = not is_kept and await self._files.is_unwanted(tx, wanted)
        if is_unwanted:
            self._shelf.remove(wanted.media)

    async def _fail(self, wanted: Wanted, fetched: Fetched) -> None:
        async with self._database.transaction() as tx:
            await self._files.fail(tx, wanted, fetched, self._clock.now())
