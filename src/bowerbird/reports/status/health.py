"""What `status` shows beside the summary: the pace of late, refused credentials, quarantine, how complete, how large."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import CallState, CredentialState, MediaState, PostFate
from bowerbird.ports import Database, Transaction
from bowerbird.reports.counting.counts import Count, Counter
from bowerbird.reports.counting.posts import read_fates
from bowerbird.reports.seeds.unknown_seeds import unknown_handles

_RECENT_CALLS = 1_000
_MANY = 100_000
_GONE = (
    "unavailable where until is null",
    "relation_history where change = 'removed'",
    "deletions where subject = 'post'",
)
_SAMPLE = 1_000
_LOOKED = 20_000
"""Tasks of all kinds among which the timelines of a sample are looked for."""
_PACE = f"""
select count(*) as calls, coalesce(sum(new_items), 0) as items, min(settled_at) as since, max(settled_at) as until
from (select settled_at, new_items from calls where state = '{CallState.SETTLED}' order by call desc limit ?) as recent
"""
_REFUSED = f"""
select s.name as service, s.provider, c.credential, c.reason, c.since from credentials c join services s on s.service = c.service
where c.state = '{CredentialState.REFUSED}' order by c.since desc, s.name, c.credential
"""
_QUARANTINE = """
select s.facet, s.why, s.items, (select count(*) from quarantine q where q.source = s.source) as kept
from quarantine_sources s order by s.items desc, s.last_at desc, s.source limit 5
"""
_VISITED = """
select t.task from tasks t join lanes l on l.lane = t.lane
where t.task {sampled} and t.visits > 0 and l.facet = 'timeline' order by t.task
"""
_COMPLETE = """
select coalesce(sum(claimed), 0) as claimed, coalesce(sum(case when stored < claimed then stored else claimed end), 0) as stored,
    count(*) as users
from (
    select u.posts as claimed, (select count(*) from posts p where p.author = u.user_no) as stored
    from (
        select distinct coalesce(
            (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
            (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target))
        ) as user_no
        from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
        where t.task {sampled}
    ) as visited join users u on u.user_no = visited.user_no
    where u.posts > 0
) as sample
"""
_TROUBLE = f"""
select error from (select file, state, error from media_files order by file desc limit ?) as recent
where error is not null and state in ('{MediaState.WAITING}', '{MediaState.GIVEN_UP}') order by file desc limit 1
"""


class Pace(Struct, frozen=True):
    """The last so many settled calls: how many, what they brought, and in what time."""

    calls: int
    items: int
    since: datetime | None
    until: datetime | None

    @property
    def span(self) -> timedelta:
        return self.until - self.since if self.since and self.until else timedelta(0)


class Refusal(Struct, frozen=True):
    """A credential that a service no longer accepts."""

    service: str
    provider: str
    credential: str
    reason: str | None
    since: datetime


class Quarantined(Struct, frozen=True):
    """One reason for which items of a facet are set aside: how many there were, and how many of them are there to be read."""

    facet: str
    why: str
    items: int
    kept: int


class Completeness(Struct, frozen=True):
    """In a sample of accounts whose timeline was visited: how many posts their profiles claim, how many are stored."""

    users: int
    claimed: int
    stored: int
    is_sample: bool = False
    """There are more than these."""

    @property
    def share(self) -> float | None:
        return self.stored / self.claimed if self.claimed else None


class GoneCounts(Struct, frozen=True):
    """How much the services no longer show, each counted up to a hundred thousand: `bowerbird gone` lists it."""

    users: int
    """Absent now, seeds by handle that led to nobody among them."""
    relations: int
    posts: int


class Health(Struct, frozen=True, kw_only=True):
    """How a store stands, beyond counts."""

    pace: Pace
    refusals: tuple[Refusal, ...]
    quarantine: tuple[Quarantined, ...]
    completeness: Completeness
    gone: GoneCounts
    posts: dict[PostFate, Count]
    """Stored posts by fate: `kept`, `deleted`, or `opted_out`, the last two by id and time only."""
    media: dict[MediaState, Count]
    """Files by state."""
    media_trouble: str
    """What the latest of those that failed failed with; empty when none did."""
    size: int
    """Bytes on disk."""


async def read_refusals(tx: Transaction) -> tuple[Refusal, ...]:
    """Credentials that services no longer accept, the latest first."""
    rows = await tx.fetch(_REFUSED)
    return tuple(
        Refusal(row["service"], row["provider"], row["credential"], row["reason"], from_micros(row["since"])) for row in rows
    )


async def read_health(database: Database) -> Health:
    """Everything at once; nothing here grows with the tables."""
    not_found = len({(each.service, each.target) for each in await unknown_handles(database)})
    async with database.reading() as tx:
        users, relations, posts = [await _up_to_many(tx, what) for what in _GONE]
        return Health(
            pace=await read_pace(tx),
            refusals=await read_refusals(tx),
            quarantine=tuple(
                Quarantined(row["facet"], row["why"], row["items"], row["kept"]) for row in await tx.fetch(_QUARANTINE)
            ),
            completeness=await read_completeness(tx, database),
            gone=GoneCounts(users + not_found, relations, posts),
            posts=await read_fates(tx, database),
            media=await _media(tx, database),
            media_trouble=await _media_trouble(tx),
            size=await read_size(tx, database),
        )


async def _up_to_many(tx: Transaction, what: str) -> int:
    row = await tx.fetch_one(f"select count(*) as found from (select 1 from {what} limit {_MANY}) as few")
    return int(row["found"]) if row else 0


async def read_pace(tx: Transaction) -> Pace:
    """How the last calls went."""
    row = await tx.fetch_one(_PACE, _RECENT_CALLS)
    if row is None or not row["calls"]:
        return Pace(0, 0, None, None)
    return Pace(int(row["calls"]), int(row["items"]), from_micros(row["since"]), from_micros(row["until"]))


async def read_completeness(tx: Transaction, database: Database) -> Completeness:
    """In the whole store, whichever crawl read a timeline."""
    row = await tx.fetch_one("select max(task) as top from tasks")
    top = int(row["top"] or 0) if row else 0
    # Evenly over the frontier: the first tasks of a crawl are its seeds and would not speak for the rest.
    looked = _evenly(range(1, top + 1), _LOOKED)
    some = database.any("bigint")
    visited = [row["task"] for row in await tx.fetch(_VISITED.format(sampled=some), database.members(looked))]
    chosen = _evenly(visited, _SAMPLE)
    row = await tx.fetch_one(_COMPLETE.format(sampled=some), database.members(chosen))
    if row is None:
        return Completeness(0, 0, 0)
    is_sample = len(looked) < top or len(chosen) < len(visited)
    return Completeness(int(row["users"]), int(row["claimed"]), int(row["stored"]), is_sample=is_sample)


def _evenly(numbers: Sequence[int], most: int) -> list[int]:
    """At most so many of them, from the first to the last."""
    count = min(most, len(numbers))
    return [numbers[place * len(numbers) // count] for place in range(count)]


async def _media(tx: Transaction, database: Database) -> dict[MediaState, Count]:
    counts = await Counter(database).by(tx, "media_files", "file", {"state": "state"})
    return {MediaState(str(state)): count for (state,), count in counts.items()}


async def _media_trouble(tx: Transaction) -> str:
    row = await tx.fetch_one(_TROUBLE, _RECENT_CALLS)
    return str(row["error"]) if row is not None else ""


async def read_size(tx: Transaction, database: Database) -> int:
    """Bytes on disk."""
    if database.dialect == "sqlite":
        row = await tx.fetch_one("select page_count * page_size as size from pragma_page_count(), pragma_page_size()")
    else:
        row = await tx.fetch_one("select pg_database_size(current_database()) as size")
    return int(row["size"]) if row else 0
