"""What writes to the database cost the crawls, and who has which claim: told from the store itself, whatever the database."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Transaction

_RECENT_CALLS = 2_000
_SLOW = """
select call, facet, settled_at, settle_micros, rank_micros, seed_micros, new_items from
    (select * from calls where state = 'settled' order by call desc limit ?) as recent
where settle_micros is not null order by settle_micros desc limit ?
"""
# The newest calls first, then those of late: no index knows when a call was settled, and a store where nothing runs has none.
_PACE = """
select count(*) as calls, min(settled_at) as since, max(settled_at) as until, coalesce(sum(settle_micros), 0) as settling,
    coalesce(sum(rank_micros), 0) as ranking
from (select * from calls order by call desc limit ?) as recent where state = 'settled' and settled_at >= ?
"""
_CLAIMS = """
select c.name, c.until, c.worker, w.host, w.label from claims c left join workers w on w.worker = c.worker
order by c.name limit 200
"""
_SERVER = "select host(inet_server_addr()) as address"
_HERE = (None, "127.0.0.1", "::1")
"""Where a server is that shares our machine: behind a socket, or at an address that leads back to it."""
_FILE = "select file from pragma_database_list where name = 'main'"


class Write(Struct, frozen=True, kw_only=True):
    """The transaction that ended one call."""

    call: int
    facet: str
    at: datetime
    settle: timedelta
    rank: timedelta | None
    items: int


class WriteActivity(Struct, frozen=True, kw_only=True):
    """What the crawls write of late."""

    per_second: float
    """Transactions: two for each call, one when it is leased and one when it is settled."""
    busy: float
    """Part of the time in which one of them was under way."""
    slowest: tuple[Write, ...]


class ClaimLine(Struct, frozen=True, kw_only=True):
    """What one worker alone may do until a time."""

    name: str
    worker: int
    who: str
    until: datetime


async def read_writes(tx: Transaction, now: datetime, most: int = 15) -> WriteActivity:
    """Of the last calls, at most those of ten minutes."""
    since = now - timedelta(minutes=10)
    row = await tx.fetch_one(_PACE, _RECENT_CALLS, to_micros(since))
    slow = tuple(
        Write(
            call=each["call"],
            facet=each["facet"],
            at=from_micros(each["settled_at"]),
            settle=timedelta(microseconds=each["settle_micros"]),
            rank=None if each["rank_micros"] is None else timedelta(microseconds=each["rank_micros"]),
            items=each["new_items"] or 0,
        )
        for each in await tx.fetch(_SLOW, _RECENT_CALLS, most)
    )
    if row is None or not row["calls"]:
        return WriteActivity(per_second=0.0, busy=0.0, slowest=slow)
    seconds = max((now - from_micros(row["since"])).total_seconds(), 1.0)
    busy = (int(row["settling"]) + int(row["ranking"])) / 1e6 / seconds
    return WriteActivity(per_second=2 * int(row["calls"]) / seconds, busy=min(1.0, busy), slowest=slow)


async def read_claims(tx: Transaction) -> list[ClaimLine]:
    """Who has which stream, module, file or backup."""
    return [
        ClaimLine(name=row["name"], worker=row["worker"], who=row["label"] or row["host"] or "", until=from_micros(row["until"]))
        for row in await tx.fetch(_CLAIMS)
    ]


async def store_file(tx: Transaction, dialect: str) -> str:
    """Where a SQLite store lies; empty for one in memory or on a server."""
    row = await tx.fetch_one(_FILE) if dialect == "sqlite" else None
    return str(row["file"] or "") if row else ""


async def is_here(tx: Transaction, dialect: str) -> bool:
    """Whether the database lies on a disk of this machine, as far as that can be told."""
    row = await tx.fetch_one(_SERVER) if dialect == "postgresql" else None
    return row is None or row["address"] in _HERE
