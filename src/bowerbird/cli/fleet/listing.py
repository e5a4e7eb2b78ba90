"""Who works on the crawls of a store."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from bowerbird.cli.which import NamedStore, meant_crawl, read_store
from bowerbird.clock import RealClock
from bowerbird.reports.working.at_work import AtWork, read_at_work

_SECOND = timedelta(seconds=1)


async def who_works(place: NamedStore, crawl: str | None) -> list[dict[str, Any]]:
    """One row for each worker that lives, guests of a coordinator too."""
    clock = RealClock()
    async with read_store(place, clock) as database, database.reading() as tx:
        wanted, now = await meant_crawl(database, place, crawl), clock.now()
        return [_told(each, now) for each in await read_at_work(tx, now) if wanted in (None, each.crawl)]


def _told(each: AtWork, now: datetime) -> dict[str, Any]:
    return {
        "worker": each.worker,
        "name": each.label,
        "crawl": each.crawl,
        "host": f"{each.host}:{each.pid}",
        "through": "the database" if each.coordinator is None else f"worker {each.coordinator}",
        "version": each.version,
        "since": f"{each.started_at:%Y-%m-%d %H:%M}",
        "calls": each.calls,
        "wanted": each.wanted or "",
        "seen": f"{(now - each.seen_at) // _SECOND * _SECOND} ago",
    }
