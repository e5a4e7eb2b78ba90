"""The workers of a coordinator in the database: rows beside those of processes that have it themselves."""

from __future__ import annotations

from collections.abc import Collection

from bowerbird.crawl.life import controls, registry
from bowerbird.errors import UserError
from bowerbird.model import CrawlState
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.remote.wire import Enrol, Orders

_FORMER = "select worker from workers where label = ? and identity = ? and coordinator is not null and ended_at is null"
_NUMBER = "select crawl from crawls where name = ?"


class Roster:
    """Writes down who is there for one crawl, and reads what is wanted of them."""

    def __init__(self, database: Database, clock: Clock, crawl: str) -> None:
        self._database = database
        self._clock = clock
        self.crawl = crawl

    async def enrol(self, label: str, asked: Enrol, coordinator: int) -> int:
        """The number of a worker; the one it had before, as the same process, is no longer its own."""
        async with self._database.transaction() as tx:
            now = self._clock.now()
            former = [row["worker"] for row in await tx.fetch(_FORMER, label, asked.process.identity)]
            await registry.end_workers(tx, former, now)
            await controls.begin(tx, await self._number(tx), label)
            guest = registry.Guest(process=asked.process, coordinator=coordinator, version=asked.version)
            return await registry.enrol_worker(tx, self.crawl, now, label, guest)

    async def beat(self, worker: int) -> bool:
        """A sign of life; False when it comes too late: others have taken this worker for dead."""
        async with self._database.transaction() as tx:
            return await registry.heartbeat(tx, worker, self._clock.now())

    async def leave(self, workers: Collection[int]) -> None:
        async with self._database.transaction() as tx:
            await registry.end_workers(tx, sorted(workers), self._clock.now())

    async def living(self, workers: Collection[int]) -> frozenset[int]:
        """Those of them that nobody takes for dead."""
        async with self._database.reading() as tx:
            statement = f"select worker from workers where ended_at is null and worker {self._database.any('bigint')}"
            rows = await tx.fetch(statement, self._database.members(sorted(workers)))
        return frozenset(row["worker"] for row in rows)

    async def orders(self, labels: Collection[str]) -> dict[str, Orders]:
        """What is wanted of each, as the user said it last."""
        async with self._database.reading() as tx:
            number = await self._number(tx)
            row = await registry.read_crawl(tx, number)
            wishes = {label: await controls.read(tx, number, label) for label in labels}
        return {label: _orders(row, wishes[label]) for label in labels}

    async def _number(self, tx: Transaction) -> int:
        row = await tx.fetch_one(_NUMBER, self.crawl)
        if row is None:
            raise UserError(f"there is no crawl called {self.crawl!r} in the database any more", code="unknown_crawl")
        return int(row["crawl"])


def _orders(row: registry.CrawlRow, wishes: controls.Wishes) -> Orders:
    is_paused = row.wanted == CrawlState.PAUSED or wishes.is_paused
    if wishes.is_stopped:
        return Orders(stop="asked to stop")
    return Orders(is_paused=is_paused)
