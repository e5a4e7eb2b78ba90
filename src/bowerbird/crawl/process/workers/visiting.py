"""A worker that does one thing for a crawl and goes: meanwhile it counts as alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from bowerbird.crawl.life import registry
from bowerbird.errors import Busy, DiskFull
from bowerbird.ports import Clock, Database

_SIGN_EVERY = timedelta(seconds=20)


@asynccontextmanager
async def visiting_worker(database: Database, clock: Clock, name: str) -> AsyncIterator[int]:
    """The number of the worker. `name`: another than the crawl's, for it does not run the crawl, and keeps nobody from it."""
    async with database.transaction() as tx:
        worker = await registry.enrol_worker(tx, name, clock.now())
    signs = asyncio.create_task(_give_signs(database, clock, worker))
    try:
        yield worker
    finally:
        signs.cancel()
        async with database.transaction() as tx:
            await registry.end_workers(tx, [worker], clock.now())


async def _give_signs(database: Database, clock: Clock, worker: int) -> None:
    while True:
        await clock.sleep_until(clock.now() + _SIGN_EVERY)
        with suppress(Busy, DiskFull):
            async with database.transaction() as tx:
                await registry.heartbeat(tx, worker, clock.now())
