"""The one row of `statistic_work`: who counts, until when, and whether somebody waits for new numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from secrets import randbits

from bowerbird.clock import to_micros
from bowerbird.errors import Fenced
from bowerbird.ports import Clock, Database, Transaction

HOLD = timedelta(minutes=2)
"""How long others wait for a process that does nothing any more."""
_TAKE = "update statistic_work set token = ?, until = ? where one = 1 and until <= ?"
_RENEW = "update statistic_work set until = ? where one = 1 and token = ?"
_RELEASE = "update statistic_work set until = 0 where one = 1 and token = ?"
_ASK = "update statistic_work set wanted_at = ? where one = 1"
_WANTED = "select wanted_at, (select max(at) from statistics) as made_at from statistic_work where one = 1"


class Turn:
    """The right to count, of one process at a time; not a claim of a worker, for a dashboard counts too and is none."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._token = randbits(62)

    async def take(self) -> bool:
        now = self._clock.now()
        async with self._database.transaction() as tx:
            return await tx.execute(_TAKE, self._token, to_micros(now + HOLD), to_micros(now)) == 1

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A small piece of work; raises `Fenced` when another process has taken over."""
        async with self._database.transaction() as tx:
            if await tx.execute(_RENEW, to_micros(self._clock.now() + HOLD), self._token) != 1:
                raise Fenced("statistics are counted by another process")
            yield tx

    async def renew(self) -> None:
        async with self.transaction():
            pass

    async def release(self) -> None:
        async with self._database.transaction() as tx:
            await tx.execute(_RELEASE, self._token)


async def ask_anew(tx: Transaction, now: datetime) -> None:
    """Says that somebody waits for new numbers: whoever counts does so at once."""
    await tx.execute(_ASK, to_micros(now))


async def is_wanted(tx: Transaction) -> bool:
    """Whether somebody waits since the last were made."""
    row = await tx.fetch_one(_WANTED)
    return row is not None and row["wanted_at"] > (row["made_at"] or 0)
