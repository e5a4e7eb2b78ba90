"""Reads what the first page of the dashboard shows; cheap enough to be read every second while somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct, structs

from bowerbird.db.moment import one_moment
from bowerbird.limits.budget import is_budget
from bowerbird.model import CrawlState, ShownState, TaskState
from bowerbird.model.money import in_dollars, thousandths
from bowerbird.ports import Database, Transaction
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.overview.attention import Need, needs
from bowerbird.reports.rerun import read_rerun_commands
from bowerbird.reports.status.health import Health, read_pace
from bowerbird.reports.status.limit_names import limit_words
from bowerbird.reports.status.money import months, own_purse
from bowerbird.reports.status.status import Status, read_status
from bowerbird.reports.status.summary import CrawlReport, LedgerReport
from bowerbird.reports.working.paces import read_minutes, read_open

LATELY = timedelta(minutes=1)
_HEALTH_KEPT = timedelta(minutes=1)
"""What takes longest to count, completeness above all, changes slowly."""
_EXACT = 10_000
"""Of more tasks or accounts a sample is counted, as on the page of a crawl: all of them take longer than a page may."""


class Limit(Struct, frozen=True, kw_only=True):
    """One limit of a service as it stands now."""

    name: str
    left: int
    allowance: int
    resets_at: datetime | None

    @property
    def share(self) -> float:
        return self.left / max(1, self.allowance)


_WAITS = (TaskState.WAITING, TaskState.LEASED)


class CrawlLine(Struct, frozen=True, kw_only=True):
    """One crawl, in a line."""

    crawl: CrawlReport
    flow: str
    state: ShownState
    processes: int
    per_second: float
    """New items over the last minute."""
    waiting: Count
    dollars: str
    since: datetime
    """When the processes that work on it began, or when it ended."""


class Overview(Struct, frozen=True, kw_only=True):
    """A store at one moment, for somebody who has just come."""

    status: Status
    health_at: datetime
    """When completeness and what is gone were counted."""
    lines: Sequence[CrawlLine]
    limits: Sequence[Limit]
    """The tightest first."""
    needs: Sequence[Need]

    @property
    def running(self) -> int:
        return sum(bool(line.processes) and line.crawl.state == CrawlState.RUNNING for line in self.lines)

    @property
    def per_second(self) -> float:
        return sum(line.per_second for line in self.lines)

    @property
    def completeness(self) -> float | None:
        return self.status.health.completeness.share

    @property
    def dollars(self) -> str:
        return in_dollars(thousandths(sum(purse.spent for purse in months(self.status.purses))))


class OverviewReader:
    """Remembers what is slow to count for a while."""

    def __init__(self, database: Database, store: str = "") -> None:
        """`store`: as commands name it."""
        self._database = database
        self._store = store
        self._health: tuple[datetime, Health] | None = None

    async def read(self, now: datetime) -> Overview:
        """Everything, as of one moment; what is slow to count as of some seconds before."""
        kept = self._health if self._health and now - self._health[0] < _HEALTH_KEPT else None
        async with one_moment(self._database) as moment:
            status = await read_status(moment, now, health=kept[1] if kept else None, with_log=False, exact=_EXACT)
            async with moment.reading() as tx:
                status = structs.replace(status, health=structs.replace(status.health, pace=await read_pace(tx)))
                lines = [await _line(tx, status, crawl) for crawl in status.summary.crawls]
                commands = {name: command.line() for name, command in (await read_rerun_commands(tx)).items()}
        self._health = kept or (now, status.health)
        return Overview(
            status=status,
            health_at=self._health[0],
            lines=lines,
            limits=_limits(status),
            needs=needs(status, commands, self._store),
        )


async def _line(tx: Transaction, status: Status, crawl: CrawlReport) -> CrawlLine:
    processes = sum(process.crawl == crawl.name for process in status.processes)
    own, lanes = own_purse(status.purses, crawl.name), [lane for lane in status.summary.lanes if lane.crawl == crawl.name]
    return CrawlLine(
        crawl=crawl,
        flow=msgspec.json.decode(crawl.flow)["name"],
        state=crawl.shown_state(is_run=processes > 0),
        processes=processes,
        per_second=await read_rate(tx, crawl.crawl, _begun(status, crawl.name), status.now) if processes else 0.0,
        waiting=_sum(count for lane in lanes for state, count in lane.tasks.items() if state in _WAITS),
        dollars=own.words if own else "",
        since=_begun(status, crawl.name) if processes else crawl.updated_at,
    )


def _sum(counts: Iterable[Count]) -> Count:
    several = list(counts)
    return Count(sum(each.value for each in several), is_exact=all(each.is_exact for each in several))


def _begun(status: Status, crawl: str) -> datetime:
    return min(process.started_at for process in status.processes if process.crawl == crawl)


async def read_rate(tx: Transaction, crawl: int, begun: datetime, now: datetime) -> float:
    """New items per second over the last minute, open streams included; `begun`: when somebody began to work on it."""
    minutes = await read_minutes(tx, crawl, now - LATELY)
    since = max(minutes.since, begun, min((each.minute for each in minutes.counts), default=now))
    asked = sum(each.items for each in minutes.counts) / max((now - since).total_seconds(), 1.0)
    heard = [each.items / max((now - each.since).total_seconds(), 1.0) for each in (await read_open(tx, crawl)).values()]
    return asked + sum(heard)


def _limits(status: Status) -> list[Limit]:
    ledgers = [one for one in status.summary.ledgers if not is_budget(one.bucket)]
    names = limit_words(one.bucket for one in ledgers)
    found = [_limit(one, names[one.bucket], status.now) for one in ledgers]
    return sorted(found, key=lambda limit: (limit.share, limit.name))


def _limit(one: LedgerReport, name: str, now: datetime) -> Limit:
    is_over = one.reset_at is not None and one.reset_at <= now
    left = one.allowance if is_over else max(0, one.remaining - one.in_flight)
    return Limit(name=name, left=left, allowance=one.allowance, resets_at=None if is_over else one.reset_at)
