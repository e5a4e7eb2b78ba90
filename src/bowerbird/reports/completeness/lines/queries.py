"""The ledger by query: what each search, hashtag or list brought, and the times it could not cover."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import Subject, TaskState
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, given_up, left_out, opted_out, retired, summed
from bowerbird.reports.completeness.facts import AccountReader, ShortfallFacts, TaskFacts
from bowerbird.reports.completeness.rates import Rate, missed
from bowerbird.reports.completeness.told import Told
from bowerbird.reports.completeness.world import LaneFacts, Surroundings

_FOUND = """
select c.targets as target, sum(case when p.deleted_at is not null then 1 else 0 end) as deleted,
    sum(case when p.deleted_at is null and u.opts_out = 1 then 1 else 0 end) as opted_out,
    sum(case when p.deleted_at is null and coalesce(u.opts_out, 0) = 0 then 1 else 0 end) as captured,
    min(p.created_at) as oldest
from (select post_no, min(call) as call from sightings where lane {lanes} group by post_no) g
join calls c on c.call = g.call join posts p on p.post_no = g.post_no join users u on u.user_no = p.author group by c.targets
"""
_VOLUMES = """
select query, sum(posts) as posts, max(at) as at from volumes where service = ? group by query
"""
FOUND = "posts that this query listed; what two queries of the same kind list counts for the first"


class _Found(Struct, frozen=True):
    """Posts that one query was the first to bring; `opted_out`: without their content."""

    captured: int = 0
    deleted: int = 0
    opted_out: int = 0
    oldest: datetime | None = None

    @property
    def listed(self) -> int:
        return self.captured + self.deleted + self.opted_out


async def query_entries(database: Database, around: Surroundings) -> AsyncIterator[Entry]:
    """One entry per query of every lane that asks for posts by words."""
    reader, told = AccountReader(database), Told()
    lanes = [lane for lane in around.wanted if lane.facet.subject is Subject.WORD and "posts" in lane.facet.yields]
    for lane in lanes:
        async with database.reading() as tx:
            found = await _found(database, tx, [lane])
            kin = [each for each in lanes if _same_kind(each, lane)]
            shared = found if kin == [lane] else await _found(database, tx, kin)
            volumes = await _volumes(tx, lane)
        async for tasks in reader.tasks(lane):
            async with database.reading() as tx:
                shortfalls = await reader.shortfalls(tx, lane, [task.target for task in tasks])
            for task in tasks:
                query = _Query(
                    lane=lane,
                    task=task,
                    found=found.get(task.target, _Found()),
                    shared=shared.get(task.target, _Found()),
                    volume=volumes.get(task.target),
                    shortfalls=shortfalls.get(task.target, ()),
                )
                yield _entry(query, around, told)


def _same_kind(one: LaneFacts, other: LaneFacts) -> bool:
    return (one.service, one.facet.name) == (other.service, other.facet.name)


class _Query(Struct, frozen=True, kw_only=True):
    lane: LaneFacts
    task: TaskFacts
    found: _Found
    """What the lane itself brought: its rate is told from it."""
    shared: _Found
    """What any lane brought that asks the same."""
    volume: tuple[int, datetime] | None
    shortfalls: Sequence[ShortfallFacts]

    @property
    def rate(self) -> Rate:
        """How many posts there are in a time that was covered."""
        last = self.task.visited_at or self.task.added_at
        first = min(self.found.oldest or last, self.task.added_at)
        lost = sum((each.before - each.after for each in self.shortfalls if each.after and each.before), timedelta(0))
        return Rate(self.found.listed, max(last - first - lost, timedelta(0)))


def _entry(query: _Query, around: Surroundings, told: Told) -> Entry:
    estimates = [*_left_out(query), *_waiting(query, around)]
    parts = [*estimates, *opted_out(query.shared.opted_out)]
    low, likely, high = summed(parts)
    certainty = FOUND
    if query.volume is not None:
        low, likely, high = _against(query, low, high)
        certainty += "; the service's own count of matches against them"
    elif estimates:
        certainty += "; what is missing is estimated from the rate at other times"
    return Entry(
        subject=query.task.target,
        crawl=query.lane.crawl,
        service=query.lane.service_name,
        facet=query.lane.facet.name,
        captured=query.shared.captured,
        deleted=query.shared.deleted,
        claimed=query.volume[0] if query.volume else None,
        claimed_at=query.volume[1] if query.volume else None,
        low=low,
        likely=likely,
        high=high,
        missing=tuple(parts),
        certainty=certainty,
        is_repeated=told.again("posts", None, f"{query.lane.service_name}/{query.lane.facet.name}/{query.task.target}"),
    )


def _against(query: _Query, low: int, high: int | None) -> tuple[int, int, int | None]:
    """The service's count decides how much, the causes only why."""
    claimed = query.volume[0] if query.volume else 0
    owed = max(0, claimed - query.shared.captured - query.shared.deleted)
    return min(low, owed), owed, None if high is None else max(high, owed)


def _left_out(query: _Query) -> list[Missing]:
    """What listings left out that ended before their end; how much it is only a known stretch of time tells."""
    parts = []
    for short in query.shortfalls:
        if short.after is not None and short.before is not None:
            parts.append(missed(query.rate, Cause(short.cause), short.detail, short.after, short.before))
        else:
            parts.append(
                Missing(
                    cause=Cause(short.cause), low=0, likely=0, high=None, why=short.detail, after=short.after, before=short.before
                )
            )
    return parts


def _waiting(query: _Query, around: Surroundings) -> list[Missing]:
    """The time since the last whole listing, where another one is due."""
    task, lane = query.task, query.lane
    if not task.is_pending(lane.as_of):
        return []
    cause, why = _why(query, around)
    if task.visited_at is None:
        return [Missing(cause=cause, low=0, likely=0, high=None, why=why)]
    return [missed(query.rate, cause, why, task.visited_at, lane.as_of)]


def _why(query: _Query, around: Surroundings) -> tuple[Cause, str]:
    if query.lane.left_out:
        return left_out(query.lane.left_out)
    if query.task.state == TaskState.FAILED:
        return given_up(query.task.failure)
    if query.task.state == TaskState.RETIRED:
        return retired(query.task.failure)
    if around.was_out(query.lane, query.task.waits_since(query.lane.as_of)):
        return Cause.OUTAGE, "the service was down for most of the time in which it waited to be asked"
    if query.task.cursor is not None:
        return Cause.BUDGET, "its listing has not come to its end yet"
    return Cause.BUDGET, "its turn to be asked has not come"


async def _found(database: Database, tx: Transaction, lanes: Sequence[LaneFacts]) -> Mapping[str, _Found]:
    """By query what the lanes listed; a post counts for the query that brought it first."""
    statement = _FOUND.format(lanes=database.any("bigint"))
    rows = await tx.fetch(statement, database.members([lane.lane for lane in lanes]))
    return {row["target"]: _found_in(row) for row in rows}


def _found_in(row: Row) -> _Found:
    return _Found(
        captured=int(row["captured"]),
        deleted=int(row["deleted"]),
        opted_out=int(row["opted_out"]),
        oldest=None if row["oldest"] is None else from_micros(row["oldest"]),
    )


async def _volumes(tx: Transaction, lane: LaneFacts) -> Mapping[str, tuple[int, datetime]]:
    return {row["query"]: (int(row["posts"]), from_micros(row["at"])) for row in await tx.fetch(_VOLUMES, lane.service)}
