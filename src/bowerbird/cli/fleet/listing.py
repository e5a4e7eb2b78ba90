"""Who works on the crawls of a store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bowerbird.cli.which import Place, meant_crawl, opened_place
from bowerbird.clock import RealClock, from_micros
from bowerbird.crawl.life import registry
from bowerbird.ports import Row

_WORKERS = """
select w.*, (select count(*) from calls where calls.worker = w.worker and calls.state = 'settled') as calls,
    (select controls.wanted from controls join crawls on crawls.crawl = controls.crawl
        where crawls.name = w.name and controls.kind = 'worker' and controls.name = w.label) as wanted
from workers w where w.ended_at is null order by w.worker
"""
_SECOND = timedelta(seconds=1)


async def who_works(place: Place, crawl: str | None) -> list[dict[str, Any]]:
    """One row for each worker that lives, guests of a coordinator too."""
    clock = RealClock()
    async with opened_place(place, clock) as database:
        wanted = await meant_crawl(database, place, crawl)
        async with database.reading() as tx:
            now = clock.now()
            dead = set(await registry.dead_workers(tx, 0, now))
            rows = [row for row in await tx.fetch(_WORKERS) if row["worker"] not in dead and wanted in (None, row["name"])]
    return [_told(row) | {"seen": str((now - from_micros(row["seen_at"])) // _SECOND * _SECOND) + " ago"} for row in rows]


def _told(row: Row) -> dict[str, Any]:
    return {
        "worker": row["worker"],
        "name": row["label"] or "",
        "crawl": row["name"],
        "host": f"{row['host']}:{row['pid']}",
        "through": "the database" if row["coordinator"] is None else f"worker {row['coordinator']}",
        "version": row["version"] or "",
        "since": f"{from_micros(row['started_at']):%Y-%m-%d %H:%M}",
        "calls": row["calls"],
        "wanted": row["wanted"] or "",
    }
