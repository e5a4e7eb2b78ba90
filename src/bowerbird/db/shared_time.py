"""One time for all machines that share a database: its own."""

from __future__ import annotations

from bowerbird.ports import Clock, Database


async def set_clock(database: Database, clock: Clock) -> None:
    """Sets our clock by the database's, where that has one."""
    sent = clock.now()
    told = await database.time()
    if told is not None:
        clock.heed(told, sent, clock.now())
