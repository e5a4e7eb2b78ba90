"""The store of a crawl, brought up to date and clean."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bowerbird.db import open_database
from bowerbird.db.files.rewriting import rewrite_small
from bowerbird.ports import Clock, Database
from bowerbird.store.payloads.repacking import repack

Check = Callable[[Database, Clock], Awaitable[None]]
"""Raises where a store must not be brought up to date now."""


async def _anyway(database: Database, clock: Clock) -> None:
    """Nobody else uses it."""


@asynccontextmanager
async def open_store(where: str, clock: Clock, *, is_passing: bool = False, check: Check = _anyway) -> AsyncIterator[Database]:
    """The migrated database of a crawl, closed at the end. One that `is_passing` neither waits for the disk nor is rewritten at
    its end: whoever keeps it after all calls `rewrite_small`."""
    # Before and after: a process that was killed did not get to the second.
    await rewrite_small(where, clock)
    database = await open_database(where, clock, waits_for_disk=not is_passing)
    try:
        await check(database, clock)
        await database.migrate()
        await repack(database, clock)
        yield database
    finally:
        await database.close()
        if not is_passing:
            await rewrite_small(where, clock)
