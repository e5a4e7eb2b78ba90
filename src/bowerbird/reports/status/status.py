"""How everything in a store stands at one moment: what `bowerbird status` shows, as values."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.running import Member, living
from bowerbird.limits.budget import BudgetStatus, budget_statuses
from bowerbird.limits.rate_limits import read_buckets
from bowerbird.ports import Database
from bowerbird.reports.counting.counts import EXACT
from bowerbird.reports.keywords.method_counts import MethodCounts, read_method_counts
from bowerbird.reports.modules import Failing, read_failing
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.health import Health, read_health
from bowerbird.reports.status.left_out import NotAsked, read_left_out
from bowerbird.reports.status.streams import GapReport, StreamReport, read_gaps, read_streams
from bowerbird.reports.status.summary import Summary

_ERRORS = 5


class Status(Struct, frozen=True, kw_only=True):
    """Everything that a store tells of its crawls, as of one time."""

    now: datetime
    processes: tuple[Member, ...]
    """Those that work on its crawls now."""
    summary: Summary
    health: Health
    streams: tuple[StreamReport, ...] = ()
    gaps: tuple[GapReport, ...] = ()
    """The newest first."""
    purses: tuple[BudgetStatus, ...] = ()
    left_alone: dict[int, int] = {}
    """By crawl: how many of its seeds asked not to be collected."""
    left_out: tuple[NotAsked, ...] = ()
    keywords: tuple[MethodCounts, ...] = ()
    """Of crawls whose seeds are keywords, by method."""
    failing: tuple[Failing, ...] = ()
    """Modules whose last runs failed."""


async def read_status(
    database: Database, now: datetime, *, health: Health | None = None, with_log: bool = True, exact: int = EXACT
) -> Status:
    """Reads it all; give it `one_moment` of a database, so that the figures agree. For those who look again and again:
    `health`, what was read of it a moment ago; `with_log`, whether the calls are counted and timed; `exact`, up to how many rows
    the others are counted one by one."""
    summary = await Reader(database, exact=exact).summary(errors=_ERRORS, with_log=with_log)
    health = health or await read_health(database)
    async with database.reading() as tx:
        return Status(
            now=now,
            processes=tuple(await living(tx, None, now)),
            summary=summary,
            health=health,
            streams=await read_streams(tx),
            gaps=await read_gaps(tx),
            purses=budget_statuses(await read_buckets(tx), now),
            left_alone=await registry.left_alone(tx),
            left_out=tuple(await read_left_out(tx)),
            keywords=tuple(await read_method_counts(tx)),
            failing=tuple(await read_failing(tx)),
        )
