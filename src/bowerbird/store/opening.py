"""Open the store of a crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bowerbird.db import open_database
from bowerbird.db.files.rewriting import rewrite_small
from bowerbird.ports import Clock, Database


@asynccontextmanager
async def open_store(where: str, clock: Clock, *, is_passing: bool = False) -> AsyncIterator[Database]:
    """Open the database of a crawl, with its tables, and close it at the end.

    A store that `is_passing` does not wait for the disk and is not rewritten at its end. If it is kept after all, the
    caller runs `rewrite_small`.
    """
    # Before and after: a process that was killed did not reach the second.
    await rewrite_small(where, clock)
    database = await open_database(where, clock, waits_for_disk=not is_passing)
    try:
        await database.create_tables()
        yield database
    finally:
        await database.close()
        if not is_passing:
            await rewrite_small(where, clock)
