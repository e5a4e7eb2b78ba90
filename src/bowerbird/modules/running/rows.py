"""The rows of `modules` and `module_runs`: when each module is due, what it remembers, and what every run did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.model.modules import Counts
from bowerbird.ports import Row, Transaction

_LONGEST_ERROR = 500
_MOST_RUNS = 5_000
"""Of one module that are kept: of one that runs every minute, three days."""
_ENROL = """
insert into modules (crawl, name, due) values (?, ?, ?)
on conflict (crawl, name) do update set due = ? where modules.due > ?
"""
_READ = "select due, failures, memory from modules where crawl = ? and name = ?"
_ALL = "select name, due, failures, memory from modules where crawl = ?"
_NEXT = "update modules set due = ?, failures = ? where crawl = ? and name = ?"
_REMEMBER = "update modules set memory = ? where crawl = ? and name = ?"
_LOST = "update module_runs set ended_at = ?, error = ? where crawl = ? and module = ? and ended_at is null"
_BEGIN = "insert into module_runs (crawl, module, worker, is_by_hand, started_at) values (?, ?, ?, ?, ?) returning run"
_END = "update module_runs set ended_at = ?, counts = ?, error = ? where run = ?"
_FORGET = """
delete from module_runs where crawl = ? and module = ? and run <= (
    select run from module_runs where crawl = ? and module = ? order by run desc limit 1 offset ?)
"""
_RUNS = """
select r.run, r.module, r.is_by_hand, r.started_at, r.ended_at, r.counts, r.error, r.worker,
    (select count(*) from workers w where w.worker = r.worker and w.ended_at is null) as is_there
from module_runs r where r.crawl = ? and r.module = ? order by r.run desc limit ?
"""


class Schedule(Struct, frozen=True):
    """How it stands with one module of a crawl."""

    due: datetime
    failures: int
    memory: dict[str, Any]


class RunRow(Struct, frozen=True, kw_only=True):
    """One run of a module."""

    run: int
    module: str
    is_by_hand: bool
    started_at: datetime
    ended_at: datetime | None
    counts: Mapping[str, Any]
    error: str | None
    is_lost: bool = False
    """It never ended, and its worker has."""

    @property
    def took(self) -> timedelta | None:
        return None if self.ended_at is None else self.ended_at - self.started_at


async def enrol(tx: Transaction, crawl: int, name: str, latest: datetime, now: datetime) -> None:
    """Makes the schedule of a module where there is none: it is due now. One that comes sooner than it was holds from now on."""
    await tx.execute(_ENROL, crawl, name, to_micros(now), to_micros(latest), to_micros(latest))


async def read_schedule(tx: Transaction, crawl: int, name: str) -> Schedule | None:
    row = await tx.fetch_one(_READ, crawl, name)
    return None if row is None else _schedule(row)


async def read_schedules(tx: Transaction, crawl: int) -> dict[str, Schedule]:
    """Those of all modules of a crawl, by name."""
    return {row["name"]: _schedule(row) for row in await tx.fetch(_ALL, crawl)}


async def set_next(tx: Transaction, crawl: int, name: str, due: datetime, failures: int) -> None:
    await tx.execute(_NEXT, to_micros(due), failures, crawl, name)


async def remember(tx: Transaction, crawl: int, name: str, memory: Mapping[str, Any]) -> None:
    await tx.execute(_REMEMBER, msgspec.json.encode(memory).decode(), crawl, name)


async def begin_run(tx: Transaction, crawl: int, name: str, worker: int, now: datetime, *, is_by_hand: bool) -> int:
    """Writes down that a run begins; one that never ended is ended by it, for whoever begins has the claim."""
    at = to_micros(now)
    await tx.execute(_LOST, at, "its process ended before it did", crawl, name)
    await tx.execute(_FORGET, crawl, name, crawl, name, _MOST_RUNS)
    row = await tx.fetch_one(_BEGIN, crawl, name, worker, int(is_by_hand), at)
    return int(row["run"]) if row is not None else 0


async def end_run(tx: Transaction, run: int, counts: Counts, error: str | None, now: datetime) -> None:
    told = msgspec.json.encode(counts).decode()
    await tx.execute(_END, to_micros(now), told, error[:_LONGEST_ERROR] if error else None, run)


async def read_runs(tx: Transaction, crawl: int, name: str, most: int) -> Sequence[RunRow]:
    """The last runs of a module, newest first."""
    return [_run(row) for row in await tx.fetch(_RUNS, crawl, name, most)]


async def read_last_runs(tx: Transaction, crawl: int, names: Sequence[str]) -> dict[str, RunRow]:
    """The last run of each of these modules that has run."""
    found = await tx.fetch_all([(_RUNS, (crawl, name, 1)) for name in names])
    return {name: _run(rows[0]) for name, rows in zip(names, found, strict=True) if rows}


def _schedule(row: Row) -> Schedule:
    return Schedule(from_micros(row["due"]), row["failures"], msgspec.json.decode(row["memory"]))


def _run(row: Row) -> RunRow:
    ended = row["ended_at"]
    return RunRow(
        run=row["run"],
        module=row["module"],
        is_by_hand=bool(row["is_by_hand"]),
        started_at=from_micros(row["started_at"]),
        ended_at=None if ended is None else from_micros(ended),
        counts=msgspec.json.decode(row["counts"]),
        error=row["error"],
        is_lost=ended is None and not row["is_there"],
    )
