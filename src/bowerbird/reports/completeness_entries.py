"""Entries of the completeness report, and what its views share: queues, tasks, shortfalls, ranges and rates.

Times of queues and tasks are microseconds since the epoch, as in the database; entries have datetimes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from math import ceil, floor, sqrt
from operator import itemgetter

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import Failure, stored_failure
from bowerbird.model import Facet, Outcome, Subject, TaskState
from bowerbird.model.wording import retold
from bowerbird.ports import Database, Row, Transaction
from bowerbird.providers import PROVIDERS, provider
from bowerbird.store.posts.counting import DAY

BATCH = 2_000
WEEK = 7 * DAY
LEAST_EXPECTED = 0.05
"""Fewer expected posts than this are not reported."""
DAILY_SWING = 3.0
"""Within a day most rates lie between a third of their mean and three times their mean."""


class Cause(StrEnum):
    """Why something is missing."""

    BUDGET = "budget"
    REACH = "reach"
    LEFT_OUT = "left_out"
    OUTAGE = "outage"
    PROTECTED = "protected"
    OPTED_OUT = "opted_out"
    DELETED = "deleted"
    UNKNOWN = "unknown"


CAUSE_WORDS = {
    Cause.BUDGET: "not requested yet",
    Cause.REACH: "beyond what the service lists",
    Cause.LEFT_OUT: "not available to these credentials",
    Cause.OUTAGE: "during an outage or while not connected",
    Cause.PROTECTED: "protected or hidden",
    Cause.OPTED_OUT: "of authors who opted out",
    Cause.DELETED: "deleted",
    Cause.UNKNOWN: "for unknown reasons",
}
OPTED_OUT = "the authors opted out"
NO_COUNTER = "no counter to compare with"
SERVICE_WAS_DOWN = "the service was down for most of the waiting time"


class Missing(Struct, frozen=True, kw_only=True):
    """Items missing for one cause: at least `low`, most likely `likely`, at most `high` (None: unbounded)."""

    cause: Cause
    low: int
    likely: int
    high: int | None
    why: str
    after: datetime | None = None
    before: datetime | None = None


class Entry(Struct, frozen=True, kw_only=True):
    """One line of the report: the posts or list of an account, a query, a stream, a list of ids, or a day."""

    subject: str
    name: str = ""
    crawl: str = ""
    service: str = ""
    facet: str = ""
    items: str = "posts"
    captured: int = 0
    deleted: int = 0
    claimed: int | None = None
    """The counter of the service."""
    claimed_at: datetime | None = None
    low: int = 0
    likely: int = 0
    high: int | None = 0
    missing: tuple[Missing, ...] = ()
    certainty: str = ""
    is_repeated: bool = False
    """Another entry already counts these items; sums ignore this one."""

    def of(self, cause: Cause) -> int:
        return sum(part.likely for part in self.missing if part.cause is cause)

    @property
    def causes(self) -> dict[str, int]:
        return {cause.value: count for cause in Cause if (count := self.of(cause))}


class Total(Struct, kw_only=True):
    """Sums of entries about the same kind of item, without repeated entries."""

    entries: int = 0
    captured: int = 0
    deleted: int = 0
    low: int = 0
    likely: int = 0
    high: int | None = 0
    unbounded: int = 0
    causes: dict[str, int] = {}

    def add(self, entry: Entry) -> None:
        if entry.is_repeated:
            return
        self.causes = self.causes or dict.fromkeys(Cause, 0)
        self.entries += 1
        self.captured += entry.captured
        self.deleted += entry.deleted
        self.low += entry.low
        self.likely += entry.likely
        self.high = None if self.high is None or entry.high is None else self.high + entry.high
        self.unbounded += entry.high is None
        for part in entry.missing:
            self.causes[part.cause] += part.likely


class Queue(Struct, frozen=True, kw_only=True):
    """One facet of one service in one crawl."""

    lane: int
    crawl: str
    service: int
    service_name: str
    network: str
    facet: Facet
    as_of: int
    """When the crawl last ran: what happened later is not counted as missing."""
    left_out: str = ""
    """Why it is not requested; empty if it is."""
    outages: Sequence[tuple[int, int | None]] = ()

    def was_down(self, since: int) -> bool:
        """Return whether the service was down for at least half of the time since `since`."""
        down = sum(max(0, min(ended or self.as_of, self.as_of) - max(began, since)) for began, ended in self.outages)
        return down > 0 and 2 * down >= self.as_of - since


_QUEUES = """
select l.lane, l.facet, l.left_out, c.name as crawl, s.service, s.name as service_name, s.provider, s.network,
    coalesce((select max(w.seen_at) from workers w where w.name = c.name), c.updated_at) as as_of
from lanes l join crawls c on c.crawl = l.crawl join services s on s.service = l.service order by l.lane
"""


async def read_queues(tx: Transaction) -> list[Queue]:
    outages = defaultdict(list)
    for row in await tx.fetch("select service, began_at, ended_at from outages order by began_at"):
        outages[row["service"]].append((row["began_at"], row["ended_at"]))
    queues = []
    for row in await tx.fetch(_QUEUES):
        facet = provider(row["provider"]).facets.get(row["facet"]) if row["provider"] in PROVIDERS else None
        if facet is not None:  # calls of streams have a lane but no facet
            queue = Queue(
                lane=row["lane"],
                crawl=row["crawl"],
                service=row["service"],
                service_name=row["service_name"],
                network=row["network"],
                facet=facet,
                as_of=row["as_of"],
                left_out=Failure.from_json(row["left_out"]).problem if row["left_out"] else "",
                outages=outages[row["service_name"]],
            )
            queues.append(queue)
    return queues


def queues_of(queues: Sequence[Queue], crawl: str | None) -> list[Queue]:
    """Return the queues of one crawl or of all, those of the crawl that ran last first: its entries count for all crawls."""
    return sorted((queue for queue in queues if crawl in (None, queue.crawl)), key=lambda queue: queue.as_of, reverse=True)


class TaskFacts(Struct, frozen=True):
    """The progress of one task."""

    target: str
    state: TaskState
    ready: bool
    cursor: str | None
    due: int | None
    attempts: int
    visits: int
    added_at: int
    visited_at: int | None
    failure: str | None

    def is_pending(self, as_of: int) -> bool:
        """Return whether a visit is due, under way or unfinished."""
        is_due = self.due is not None and self.due <= as_of
        is_unfinished = self.cursor is not None or self.state in (TaskState.LEASED, TaskState.FAILED)
        return self.visits == 0 or bool(self.ready) or is_due or is_unfinished

    def waits_since(self, as_of: int) -> int:
        if self.due is not None and self.due <= as_of and self.attempts == 0 and self.state != TaskState.LEASED:
            return self.due
        return self.visited_at or self.added_at

    def why_waiting(self, queue: Queue) -> tuple[Cause, str]:
        """Return why a pending task has not been visited."""
        if queue.left_out:
            return Cause.LEFT_OUT, f"not requested: {queue.left_out}"
        if self.state == TaskState.FAILED:
            failure = stored_failure(self.failure) or Failure("unknown", "")
            if failure.code == Outcome.NOT_OFFERED:
                return Cause.REACH, f"not offered by the server: {failure.problem}"
            return Cause.UNKNOWN, f"given up: {retold(failure)}"
        if self.state == TaskState.RETIRED:
            return Cause.BUDGET, f"removed from the crawl: {stored_failure(self.failure) or 'no reason given'}"
        if queue.was_down(self.waits_since(queue.as_of)):
            return Cause.OUTAGE, SERVICE_WAS_DOWN
        if self.cursor is not None:
            return Cause.BUDGET, "its listing is not finished"
        is_known_to_have_news = self.visits and queue.facet.subject is Subject.USER
        return Cause.BUDGET, "has news that was not requested yet" if is_known_to_have_news else "not requested yet"


TASK_COLUMNS = "t.target, t.state, t.ready, t.cursor, t.due, t.attempts, t.visits, t.added_at, t.visited_at, t.failure"


_task_values = itemgetter(*TaskFacts.__struct_fields__)


def read_task(row: Row) -> TaskFacts:
    target, state, *others = _task_values(row)
    return TaskFacts(target, TaskState(state), *others)


class Shortfall(Struct, frozen=True, kw_only=True):
    """A listing that ended early."""

    cause: Cause
    detail: str
    missing: int | None = None
    after: int | None = None
    before: int | None = None


async def read_shortfalls(
    database: Database, tx: Transaction, queue: Queue, targets: Sequence[str]
) -> dict[str, list[Shortfall]]:
    sql = f"""
        select target, cause, detail, missing, after_at, before_at from shortfalls
        where lane = ? and target {database.any("text")} order by shortfall
    """
    found = defaultdict(list)
    for row in await tx.fetch(sql, queue.lane, database.members(targets)):
        shortfall = Shortfall(
            cause=Cause(row["cause"]),
            detail=row["detail"],
            missing=row["missing"],
            after=row["after_at"],
            before=row["before_at"],
        )
        found[row["target"]].append(shortfall)
    return found


# ------------------------------------------------------------------------------------------------- ranges and rates


def add_up(parts: Iterable[Missing]) -> tuple[int, int, int | None]:
    """Return the sums of low, likely and high; high is None if one part is unbounded."""
    low, likely, high = 0, 0, 0
    is_bounded = True
    for part in parts:
        low, likely, high = low + part.low, likely + part.likely, high + (part.high or 0)
        is_bounded = is_bounded and part.high is not None
    return low, likely, high if is_bounded else None


def exactly(cause: Cause, count: int, why: str) -> list[Missing]:
    return [Missing(cause=cause, low=count, likely=count, high=count, why=why)] if count else []


def unbounded(cause: Cause, why: str, after: int | None = None, before: int | None = None) -> Missing:
    return Missing(cause=cause, low=0, likely=0, high=None, why=why, after=to_time(after), before=to_time(before))


def part_of(
    cause: Cause, low: int, likely: int, high: int, why: str, after: int | None = None, before: int | None = None
) -> Missing:
    return Missing(cause=cause, low=low, likely=likely, high=high, why=why, after=to_time(after), before=to_time(before))


def estimate(items: int, covered: int, cause: Cause, why: str, after: int, before: int) -> Missing:
    """Estimate what is missing between two times, from the number of `items` in a `covered` time of that length."""
    if covered <= 0:
        return unbounded(cause, why, after, before)
    span = max(before - after, 0)
    expected = items * (span / covered)
    swing = 1 + (DAILY_SWING - 1) / max(1.0, sqrt(span / DAY))  # the rhythm of the day evens out over days
    least, most = expected / swing, expected * swing
    return Missing(
        cause=cause,
        low=max(0, floor(least - 2 * sqrt(least))),
        likely=round(expected),
        high=ceil(most + 2 * sqrt(most) + 1),
        why=why,
        after=to_time(after),
        before=to_time(before),
    )


def upper_bound(expected: float) -> int:
    return ceil(expected + 2 * sqrt(expected)) if expected > 0 else 0


def is_notable(recent: int, since: int) -> bool:
    """Return whether an account with `recent` posts in a week is expected to have written in a time of this length."""
    return recent * (since / WEEK) >= LEAST_EXPECTED


def to_time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
