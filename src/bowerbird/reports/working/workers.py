"""Who works: every process that is at it and those that ended last, with what each of them did of late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.crawl.life import registry
from bowerbird.model import WorkerState
from bowerbird.ports import Row, Transaction

_RECENT_CALLS = 2_000
_ENDED = 20
_WORKERS = """
select * from workers where ended_at is null
union all select * from (select * from workers where ended_at is not null order by worker desc limit ?) as ended
order by worker desc
"""
_DID = """
select worker, count(*) as calls, sum(case when coalesce(outcome, state) = 'ok' then 1 else 0 end) as good,
    coalesce(sum(new_items), 0) as items, avg(call_micros) as micros, min(leased_at) as since,
    sum(case when state = 'flying' then 1 else 0 end) as flying
from (select * from calls order by call desc limit ?) as recent group by worker
"""
_LAST = """
select worker, facet, max(leased_at) as at from (select * from calls order by call desc limit ?) as recent group by worker, facet
order by facet
"""
_NOBODY = 0


class Did(Struct, frozen=True, kw_only=True):
    """What a worker did among the last calls of all."""

    calls: int
    good: int
    flying: int
    items: int
    mean: timedelta | None
    since: datetime
    last: Mapping[str, datetime]
    """When it last began to ask for something, by facet."""


class WorkerLine(Struct, frozen=True, kw_only=True):
    """One process."""

    worker: int
    crawl: str
    label: str
    host: str
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None
    is_dead: bool
    """It never said that it ends, and does not live."""
    is_guest: bool
    """It has no database, and gets its calls through a coordinator."""
    did: Did | None

    @property
    def state(self) -> WorkerState:
        if self.ended_at is not None:
            return WorkerState.ENDED
        return WorkerState.DEAD if self.is_dead else WorkerState.RUNNING


async def read_workers(tx: Transaction, now: datetime) -> list[WorkerLine]:
    """Those at work first, then those that ended last."""
    dead = set(await registry.dead_workers(tx, _NOBODY, now))
    calls, facets, rows = await tx.fetch_all([(_DID, (_RECENT_CALLS,)), (_LAST, (_RECENT_CALLS,)), (_WORKERS, (_ENDED,))])
    last: defaultdict[int, dict[str, datetime]] = defaultdict(dict)
    for row in facets:
        last[row["worker"]][row["facet"]] = from_micros(row["at"])
    did = {row["worker"]: _did(row, last[row["worker"]]) for row in calls}
    lines = [_line(row, did, is_dead=row["worker"] in dead) for row in rows]
    return sorted(lines, key=lambda line: (line.state is not WorkerState.RUNNING, -line.worker))


def _did(row: Row, last: Mapping[str, datetime]) -> Did:
    return Did(
        calls=int(row["calls"]),
        good=int(row["good"]),
        flying=int(row["flying"]),
        items=int(row["items"]),
        mean=None if row["micros"] is None else timedelta(microseconds=float(row["micros"])),
        since=from_micros(row["since"]),
        last=last,
    )


def _line(row: Row, did: Mapping[int, Did], *, is_dead: bool) -> WorkerLine:
    return WorkerLine(
        worker=row["worker"],
        crawl=row["name"],
        label=row["label"] or "",
        host=row["host"],
        pid=row["pid"],
        version=row["version"] or "",
        started_at=from_micros(row["started_at"]),
        seen_at=from_micros(row["seen_at"]),
        ended_at=None if row["ended_at"] is None else from_micros(row["ended_at"]),
        is_dead=is_dead,
        is_guest=registry.is_guest(row),
        did=did.get(row["worker"]),
    )
