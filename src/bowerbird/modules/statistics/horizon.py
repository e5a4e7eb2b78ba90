"""Up to which number all posts are there that will ever be: on PostgreSQL pages are saved side by side, and a lower number may be
committed after a higher one."""

from __future__ import annotations

from datetime import timedelta

from bowerbird.ports import Clock, Database

_TOP = "select coalesce(max({number}), 0) as top from {table}"
_NEXT = "select cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint) as next"
_OLDEST = "select cast(cast(pg_snapshot_xmin(pg_current_snapshot()) as text) as bigint) as oldest"
_LOOK = timedelta(milliseconds=200)
_LOOKS = 25
TABLES = {"posts": "post_no", "users": "user_no"}


async def horizon(database: Database, clock: Clock, subject: str) -> int | None:
    """The highest number below which nothing can appear any more; None while some transaction does not end."""
    async with database.reading() as tx:
        row = await tx.fetch_one(_TOP.format(table=subject, number=TABLES[subject]))
        top = int(row["top"]) if row is not None else 0
        if database.dialect == "sqlite":
            return top
        after = await tx.fetch_one(_NEXT)
    for _ in range(_LOOKS):
        async with database.reading() as tx:
            oldest = await tx.fetch_one(_OLDEST)
        if after is None or oldest is None or oldest["oldest"] >= after["next"]:
            return top
        await clock.sleep_until(clock.now() + _LOOK)
    return None
