"""What a PostgreSQL server does for this store now: statements that run, those that wait for others, which were slow, how many.

Other programs may use the same database: of them nothing is told but that they are there, and whom they hold up.
SQLite has no server to ask.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.db.postgres.database import OURS
from bowerbird.ports import Row, Transaction

_LONGEST = 2_000
OTHERS = "another program"
_RUNNING = """
select pid, application_name as who, client_addr::text as client, state, wait_event_type as waits, wait_event as waits_for,
    extract(epoch from clock_timestamp() - query_start)::float8 as seconds,
    extract(epoch from clock_timestamp() - xact_start)::float8 as open_seconds, left(query, cast(? as int)) as sql,
    pg_blocking_pids(pid) as blocked_by
from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
order by (state = 'active') desc, query_start limit 100
"""
_LOCKS = """
select l.pid, c.relname as relation, l.mode, l.granted, l.locktype as kind,
    extract(epoch from clock_timestamp() - a.query_start)::float8 as seconds
from pg_locks l left join pg_class c on c.oid = l.relation join pg_stat_activity a on a.pid = l.pid
where a.datname = current_database() and l.pid <> pg_backend_pid()
    and (not l.granted or l.mode in ('ExclusiveLock', 'AccessExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock'))
    and l.locktype <> 'virtualxid' and (not l.granted or l.locktype in ('relation', 'advisory'))
order by l.granted, l.pid limit 100
"""
_TOTALS = """
select xact_commit as commits, xact_rollback as rollbacks, tup_returned + tup_fetched as read,
    tup_inserted as inserted, tup_updated as changed, tup_deleted as deleted, blks_hit as hits, blks_read as misses, deadlocks,
    numbackends as connections
from pg_stat_database where datname = current_database()
"""
_HAS_STATEMENTS = "select 1 as there from pg_extension where extname = 'pg_stat_statements'"
_SLOW = """
select s.calls, s.mean_exec_time as mean, s.max_exec_time as most, s.total_exec_time as total,
    left(s.query, cast(? as int)) as sql
from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = current_database()
    and s.userid = (select oid from pg_roles where rolname = current_user)
order by s.total_exec_time desc limit ?
"""


_VALUES = re.compile(
    r"""
    (?P<remark>--[^\n]*|/\*.*?(?:\*/|\Z))
    | \b[eE]'(?:\\.|''|[^'\\])*(?:'|\Z)                              # texts, of which the last may be cut off
    | (?:\b[xXbBnN]|\b[uU]&)?'(?:''|[^'])*(?:'|\Z)
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
    | (?<![\w$.])\d[\d.]*(?:[eE][+-]?\d+)?                            # numbers
    | (?P<name>"(?:""|[^"])*(?:"|\Z))                                # and names, which stay
    """,
    re.VERBOSE | re.DOTALL,
)


def without_values(sql: str) -> str:
    """A statement on one line, with a mark in the place of every value that is written in it: who may see how the database is
    doing may not see what somebody looks for."""
    return " ".join(_VALUES.sub(lambda found: found["name"] or ("" if found["remark"] else "?"), sql).split())


class Running(Struct, frozen=True, kw_only=True):
    """One connection and what it does."""

    pid: int
    who: str
    client: str
    state: str
    """As PostgreSQL calls it; later versions may have other words."""
    waits_for: str
    seconds: float | None
    """Since its statement began."""
    open_seconds: float | None
    """Since its transaction began; None: it has none."""
    sql: str
    blocked_by: tuple[int, ...]


class Lock(Struct, frozen=True, kw_only=True):
    """A lock that somebody waits for, or that would keep others waiting."""

    pid: int
    relation: str
    mode: str
    is_granted: bool
    seconds: float | None


class Totals(Struct, frozen=True, kw_only=True):
    """What the server counted since its statistics began."""

    at: datetime
    commits: int
    rollbacks: int
    read: int
    """Rows."""
    inserted: int
    changed: int
    deleted: int
    hits: int
    """Pages that were in memory."""
    misses: int
    deadlocks: int
    connections: int


class Slow(Struct, frozen=True, kw_only=True):
    """A statement, and how long it takes."""

    sql: str
    calls: int
    mean: timedelta
    most: timedelta
    total: timedelta


class Activity(Struct, frozen=True, kw_only=True):
    """A server at one moment."""

    totals: Totals | None
    running: tuple[Running, ...]
    locks: tuple[Lock, ...]
    slow: tuple[Slow, ...] | None
    """Those that took most in all; None: the server does not note them."""


async def read_activity(tx: Transaction, now: datetime) -> Activity:
    """Of PostgreSQL; all of it is the server's own memory, and takes no time."""
    totals = await tx.fetch_one(_TOTALS)
    slow = None
    if await tx.fetch_one(_HAS_STATEMENTS) is not None:
        slow = tuple(_slow(row) for row in await tx.fetch(_SLOW, _LONGEST, 20))
    return Activity(
        totals=None if totals is None else Totals(at=now, **{name: int(totals[name]) for name in Totals.__struct_fields__[1:]}),
        running=tuple(_running(row) for row in await tx.fetch(_RUNNING, _LONGEST)),
        locks=tuple(_lock(row) for row in await tx.fetch(_LOCKS)),
        slow=slow,
    )


def _running(row: Row) -> Running:
    is_ours = row["who"] == OURS
    return Running(
        pid=row["pid"],
        who=OURS if is_ours else OTHERS,
        client=(row["client"] or "local") if is_ours else "",
        state=row["state"] or "",
        waits_for=f"{row['waits']}: {row['waits_for']}" if row["waits"] and row["state"] == "active" else "",
        seconds=row["seconds"],
        open_seconds=row["open_seconds"],
        sql=without_values(row["sql"] or "") if is_ours else "",
        blocked_by=tuple(row["blocked_by"] or ()),
    )


def _lock(row: Row) -> Lock:
    return Lock(
        pid=row["pid"],
        relation=row["relation"] or row["kind"],
        mode=row["mode"],
        is_granted=bool(row["granted"]),
        seconds=row["seconds"],
    )


def _slow(row: Row) -> Slow:
    times = {name: timedelta(milliseconds=row[name]) for name in ("mean", "most", "total")}
    return Slow(sql=without_values(row["sql"]), calls=int(row["calls"]), **times)
