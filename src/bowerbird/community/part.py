"""What a crawl of a community does besides its calls: weights estimated anew, the undecided looked at by their neighbours,
and those who turn out to belong sent on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from bowerbird.community.looking import Changed, Looker
from bowerbird.community.weights import is_due, train
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Arrival, to_micros
from bowerbird.model.subjects.community import JUDGE, YES
from bowerbird.ports import Part, Transaction

EVERY = timedelta(minutes=30)
_HOLD = timedelta(minutes=5)
_AT_ONCE = 300
_SAID = f"select id from judgements where judge = '{JUDGE}' and value = '{YES}' and decided_by is not null and at > ?"


class Attendant:
    """Looks around every half hour, one worker of the crawl at a time."""

    def __init__(self, crawl: int, looker: Looker, targets: Targets, lanes: Mapping[int, str], keeping: Keeping) -> None:
        """`lanes`: those that look up accounts, with the prefix that their network's ids have."""
        self._crawl = crawl
        self._looker = looker
        self._targets = targets
        self._lanes = lanes
        self._keeping = keeping
        self._ending = asyncio.Event()
        self._is_paused = False
        self._alive_at = keeping.clock.now()
        self._after = 0
        self._heard_at = keeping.clock.now() - EVERY

    def part(self) -> Part:
        return Part(
            name="community",
            run=self.run,
            end=self._ending.set,
            finish=self._ending.set,
            pause=self._pause,
            is_alive_since=lambda: self._alive_at,
            silence=EVERY * 3,
        )

    def _pause(self, is_paused: bool) -> None:
        self._is_paused = is_paused

    async def run(self) -> None:
        clock = self._keeping.clock
        while not self._ending.is_set():
            if not self._is_paused:
                await patiently(self.look, clock, self._keeping.tally.blocked)
            self._alive_at = clock.now()
            await clock.wait(self._ending, clock.now() + EVERY)

    async def look(self) -> list[Changed]:
        """One look; nothing where another worker is at it."""
        clock, database = self._keeping.clock, self._keeping.database
        now = clock.now()
        async with database.transaction() as tx:
            claim = await self._keeping.claims.take(tx, f"community {self._crawl}", now + _HOLD, now)
            if isinstance(claim, datetime):
                return []
            if await is_due(tx):
                await train(tx, database, now)
            users = await self._looker.undecided(tx, self._after, _AT_ONCE)
            self._after = users[-1] if len(users) == _AT_ONCE else 0
            changed = await self._looker.by_neighbours(tx, users, now)
            told = [row["id"] for row in await tx.fetch(_SAID, to_micros(self._heard_at))]
            await self._send(tx, {*(each.id for each in changed if each.value == YES), *told}, now)
            await self._keeping.claims.release(tx, claim)
        self._heard_at = now
        return changed

    async def _send(self, tx: Transaction, people: Collection[str], now: datetime) -> None:
        """Members who were not known as such are looked up as members are."""
        arrivals = [
            Arrival(lane=lane, target=known.removeprefix(prefix), depth=1)
            for lane, prefix in self._lanes.items()
            for known in sorted(people)
            if known.startswith(prefix)
        ]
        if arrivals:
            await self._targets.add(tx, arrivals, None, now)
