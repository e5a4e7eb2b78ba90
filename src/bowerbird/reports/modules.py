"""How the modules of a crawl stand: which run, what their last runs did, and when each runs next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.modules.running.rows import RunRow, read_last_runs, read_runs, read_schedules
from bowerbird.ports import Module, Row, Transaction

_CRAWLS = "select crawl, name, flow from crawls order by crawl"
_FAILING = """
select w.name as crawl, m.name, m.failures,
    (select r.error from module_runs r where r.crawl = m.crawl and r.module = m.name order by r.run desc limit 1) as error
from modules m join crawls w on w.crawl = m.crawl where m.failures > 0 order by w.name, m.name
"""
_WHOLE = 10
"""Means from here on are told without a fraction."""
_GROWTH = "select at, name, rows, is_exact from growth where name = ? order by at"


class ModuleState(Struct, frozen=True, kw_only=True):
    """One module of one crawl."""

    crawl: str
    name: str
    about: str
    is_on: bool
    every: timedelta
    last: RunRow | None = None
    next: datetime | None = None
    """None: it does not run by itself."""
    failures: int = 0
    """In a row, up to now."""


class Average(Struct, frozen=True, kw_only=True):
    """What runs do on average, those that failed or never ended left out."""

    runs: int
    took: timedelta
    counts: Mapping[str, float]


class Failing(Struct, frozen=True):
    """A module whose last runs failed."""

    crawl: str
    name: str
    failures: int
    error: str | None


class Size(Struct, frozen=True):
    """Rows of a table at a time."""

    at: datetime
    rows: int
    is_exact: bool


async def read_module_states(tx: Transaction, known: Mapping[str, Module], crawl: str | None) -> Sequence[ModuleState]:
    """All modules there are, for one crawl or for each: those that the flow names first."""
    found: list[ModuleState] = []
    for row in await tx.fetch(_CRAWLS):
        if crawl in (None, row["name"]):
            found += await _of_crawl(tx, known, row)
    return found


async def _of_crawl(tx: Transaction, known: Mapping[str, Module], row: Row) -> list[ModuleState]:
    uses = {use.name: use for use in msgspec.json.decode(row["flow"], type=Flow).modules}
    names = [name for name in (*uses, *(each for each in known if each not in uses)) if name in known]
    schedules, runs = await read_schedules(tx, row["crawl"]), await read_last_runs(tx, row["crawl"], names)
    return [
        ModuleState(
            crawl=row["name"],
            name=name,
            about=known[name].about,
            is_on=name in uses,
            every=(uses[name].every if name in uses else None) or known[name].every,
            last=runs.get(name),
            next=schedules[name].due if name in schedules and name in uses else None,
            failures=schedules[name].failures if name in schedules else 0,
        )
        for name in names
    ]


async def read_history(tx: Transaction, crawl: str, module: str, most: int) -> Sequence[RunRow]:
    """The last runs of one module, newest first."""
    row = await tx.fetch_one("select crawl from crawls where name = ?", crawl)
    if row is None:
        raise UserError(f"there is no crawl {crawl!r} here", code="unknown_crawl")
    return await read_runs(tx, row["crawl"], module, most)


def average(runs: Sequence[RunRow]) -> Average | None:
    """None where none has ended well."""
    good = [(run.took, run.counts) for run in runs if run.took is not None and not run.error]
    if not good:
        return None
    names = dict.fromkeys(name for _, counts in good for name, value in counts.items() if isinstance(value, int | float))
    return Average(
        runs=len(good),
        took=sum((took for took, _ in good), timedelta()) / len(good),
        counts={name: _short(sum(counts.get(name) or 0 for _, counts in good) / len(good)) for name in names},
    )


def _short(mean: float) -> float:
    return round(mean) if mean >= _WHOLE else round(mean, 1)


async def read_failing(tx: Transaction) -> Sequence[Failing]:
    """Modules whose last runs failed, of all crawls."""
    return [Failing(row["crawl"], row["name"], row["failures"], row["error"]) for row in await tx.fetch(_FAILING)]


async def read_growth(tx: Transaction, table: str) -> Sequence[Size]:
    """How many rows a table had, over time."""
    return [Size(from_micros(row["at"]), row["rows"], bool(row["is_exact"])) for row in await tx.fetch(_GROWTH, table)]
