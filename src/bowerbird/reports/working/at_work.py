"""Who works on the crawls of a store now, guests of a coordinator too."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.crawl.life import registry
from bowerbird.model import CallState, CrawlState
from bowerbird.ports import Transaction

_WORKERS = f"""
select w.*, (select count(*) from calls where calls.worker = w.worker and calls.state = '{CallState.SETTLED}') as calls,
    (select controls.wanted from controls join crawls on crawls.crawl = controls.crawl
        where crawls.name = w.name and controls.kind = 'worker' and controls.name = w.label) as wanted
from workers w where w.ended_at is null order by w.worker
"""
_NOBODY = 0


class AtWork(Struct, frozen=True, kw_only=True):
    """A worker that lives."""

    worker: int
    label: str
    crawl: str
    host: str
    pid: int
    coordinator: int | None
    """Through whom it works; None: it has the database itself."""
    version: str
    started_at: datetime
    seen_at: datetime
    calls: int
    wanted: CrawlState | None
    """What somebody asked of it alone."""


async def read_at_work(tx: Transaction, now: datetime) -> list[AtWork]:
    """In the order in which they began."""
    dead = set(await registry.dead_workers(tx, _NOBODY, now))
    return [
        AtWork(
            worker=row["worker"],
            label=row["label"] or "",
            crawl=row["name"],
            host=row["host"],
            pid=row["pid"],
            coordinator=row["coordinator"],
            version=row["version"] or "",
            started_at=from_micros(row["started_at"]),
            seen_at=from_micros(row["seen_at"]),
            calls=row["calls"],
            wanted=None if row["wanted"] is None else CrawlState(row["wanted"]),
        )
        for row in await tx.fetch(_WORKERS)
        if row["worker"] not in dead
    ]
