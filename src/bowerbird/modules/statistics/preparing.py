"""Counts what is new, counts again what changed, and makes from it what is shown; in small pieces, with rests between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import timedelta

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.errors import Busy, DiskFull
from bowerbird.modules.statistics import parts as kept
from bowerbird.modules.statistics.horizon import horizon
from bowerbird.modules.statistics.parts import SIZE, CountedPart, PartState, read_parts
from bowerbird.modules.statistics.posts import read_posts
from bowerbird.modules.statistics.publishing import made, publish
from bowerbird.modules.statistics.tally import Tally
from bowerbird.modules.statistics.users import AccountSums, read_people, read_users
from bowerbird.modules.statistics.work import Turn
from bowerbird.ports import Clock, Database, Transaction

STEP = {"posts": 1_000, "users": 2_000}
"""What is counted in one transaction: some milliseconds of writing."""
_REMOVED = 2_000
RECOUNT = {"posts": timedelta(days=7), "users": timedelta(hours=1)}
"""How old a part may become. Posts are edited, and what they answer may be stored after them; profiles change all the time."""
_PATIENCE = timedelta(minutes=30)
"""How old a part must be before deletions have it counted again: else a stream of them would keep one part being counted."""


class Prepared(Struct):
    """What a run did."""

    posts: int = 0
    users: int = 0
    recounted: int = 0
    """Parts that were begun to be counted again."""
    is_done: bool = True
    """Nothing is left to count."""
    is_taken: bool = False
    """Another process counts."""


class Preparing:
    """Brings the statistics of a store up to date."""

    def __init__(self, database: Database, clock: Clock, *, rest: float = 1.0) -> None:
        """`rest`: how long it rests after each piece, as a multiple of what that took."""
        self._database = database
        self._clock = clock
        self._rest = rest
        self._turn = Turn(database, clock)

    async def run(self, most: int = 1_000_000, *, recounts: bool = True) -> Prepared:
        """Counts at most so many posts and users and makes what is shown; nothing while another process does. `recounts`: also
        what was counted long ago."""
        if not await self._turn.take():
            return Prepared(is_taken=True, is_done=False)
        try:
            return await self._run(most, recounts=recounts)
        finally:
            with suppress(Busy, DiskFull):
                await self._turn.release()

    async def _run(self, most: int, *, recounts: bool) -> Prepared:
        done = Prepared()
        for subject in SIZE:
            top = await horizon(self._database, self._clock, subject)
            await self._begin(subject, top or 0, done, recounts=recounts)
            while top is not None and (part := await self._next(subject, top)) is not None:
                if done.posts + done.users >= most:
                    done.is_done = False
                    break
                await self._count(part, min(top, part.last, part.through + STEP[subject]), done)
        await self._publish()
        while done.is_done and (former := await self._former()) is not None:
            await self._pause(await self._remove(former))
        return done

    async def _begin(self, subject: str, top: int, done: Prepared, *, recounts: bool) -> None:
        """Makes the parts that there are to count: new ones, and those to be counted again."""
        now = self._clock.now()
        async with self._turn.transaction() as tx:
            parts = [part for part in await read_parts(tx) if part.subject == subject]
            firsts = {part.first for part in parts}
            for first in range(1, top + 1, SIZE[subject]):
                if first not in firsts:
                    await kept.begin(tx, subject, first, PartState.COUNTED, to_micros(now))
            stale, _ = await kept.stale_posts(tx) if subject == "posts" else ((), 0)
            await kept.heed_stale(tx, self._database, await self._again(tx, parts, stale, done, recounts=recounts))

    async def _again(
        self, tx: Transaction, parts: Sequence[CountedPart], stale: Collection[int], done: Prepared, *, recounts: bool
    ) -> set[int]:
        """Begins to count again the part that needs it most, if one does; answers which notes are done with by that."""
        now = self._clock.now()
        if any(part.state is PartState.AGAIN for part in parts):
            return set()
        counted = sorted((part for part in parts if part.state is PartState.COUNTED), key=lambda part: part.counted_at)
        held = {part.part: {post for post in stale if part.first <= post <= part.last} for part in counted}
        # Of a part that grows only what is counted already can be stale; the others are not noted twice.
        gone = {post for part in counted for post in held[part.part] if post > part.through}
        for part in counted:
            is_stale = bool(held[part.part] - gone) and part.counted_at <= now - _PATIENCE
            is_old = recounts and part.is_whole and part.counted_at <= now - RECOUNT[part.subject]
            if is_stale or is_old:
                await kept.begin(tx, part.subject, part.first, PartState.AGAIN, to_micros(now))
                done.recounted += 1
                return gone | held[part.part]
        return gone

    async def _next(self, subject: str, top: int) -> CountedPart | None:
        async with self._database.reading() as tx:
            parts = [part for part in await read_parts(tx) if part.subject == subject and part.state is not PartState.FORMER]
        ready = [part for part in parts if part.through < min(part.last, top)]
        return min(ready, key=lambda part: (part.state is PartState.AGAIN, part.first), default=None)

    async def _count(self, part: CountedPart, through: int, done: Prepared) -> None:
        began = self._clock.stopwatch()
        at = to_micros(self._clock.now())
        tally, body = await (self._posts if part.subject == "posts" else self._users)(part, through)
        async with self._turn.transaction() as tx:
            await kept.advance(tx, part, through, at, tally, body)
            if part.state is PartState.AGAIN:
                await self._put_in_place(tx, part, through, at)
        counted = through - part.through
        done.posts, done.users = (
            done.posts + counted * (part.subject == "posts"),
            done.users + counted * (part.subject == "users"),
        )
        await self._pause(self._clock.stopwatch() - began)

    async def _put_in_place(self, tx: Transaction, part: CountedPart, through: int, at: int) -> None:
        """The new count stands as soon as it has come as far as the old one."""
        others = [each for each in await read_parts(tx) if each.subject == part.subject and each.first == part.first]
        old = next((each for each in others if each.state is PartState.COUNTED), None)
        if old is None or through >= old.through:
            await kept.replace(tx, old, part, at)

    async def _posts(self, part: CountedPart, through: int) -> tuple[Tally, None]:
        tally = Tally()
        async with self._database.reading() as tx:
            for post in await read_posts(tx, part.through, through):
                tally.add(post)
        return tally, None

    async def _users(self, part: CountedPart, through: int) -> tuple[None, str]:
        people: AccountSums = read_people(part.body)
        async with self._database.reading() as tx:
            for row in await read_users(tx, part.through, through):
                people.add(row)
        return None, msgspec.json.encode(people).decode()

    async def _publish(self) -> None:
        began = self._clock.now()
        documents = await made(self._database, self._turn.renew)
        async with self._turn.transaction() as tx:
            await publish(tx, documents, to_micros(began))

    async def _former(self) -> CountedPart | None:
        async with self._database.reading() as tx:
            return next((part for part in await read_parts(tx) if part.state is PartState.FORMER), None)

    async def _remove(self, part: CountedPart) -> float:
        began = self._clock.stopwatch()
        async with self._turn.transaction() as tx:
            await kept.remove_some(tx, part, _REMOVED)
        return self._clock.stopwatch() - began

    async def _pause(self, took: float) -> None:
        """Lets the crawl go first."""
        await self._clock.sleep_until(self._clock.now() + timedelta(seconds=took * self._rest))
