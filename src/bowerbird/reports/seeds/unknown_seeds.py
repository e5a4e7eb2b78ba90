"""Seeds that a service does not know. A handle without an account leaves no row of its own: the log of calls tells of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import Outcome
from bowerbird.model.wording import outcome_words
from bowerbird.ports import Database, Row

ABOUT_TARGET = tuple(outcome.value for outcome in Outcome if outcome.is_about_target)
_REASONS = ", ".join(f"'{reason}'" for reason in ABOUT_TARGET)
# Handles are looked up one by one, so a call names its only target; whoever was found later was visited later.
HANDLES = f"""
select c.targets as target, c.outcome as reason, c.settled_at as at, w.name as crawl, s.name as service, l.facet
from calls c join lanes l on l.lane = c.lane join crawls w on w.crawl = l.crawl join services s on s.service = l.service
join tasks t on t.lane = c.lane and t.target = c.targets
where c.call > ? and c.objects = 1 and c.outcome in ({_REASONS}) and c.targets like '@%' and t.depth = 0
    and t.visited_at <= c.settled_at
order by c.call
"""
_LEFT_ALONE = """
select x.target, x.cause as reason, x.at, w.name as crawl, s.name as service, l.facet
from shortfalls x join lanes l on l.lane = x.lane join crawls w on w.crawl = l.crawl join services s on s.service = l.service
where x.cause = 'opted_out' order by x.shortfall
"""
_GONE = "select id from deletions where call > ? and reason = 'not_found' order by call, id"
# A seed by id whose account the service names and does not show; its key there is not everywhere the tail of its id.
_CLOSED = """
select t.target, u.reason from unavailable u join users x on x.user_no = u.user_no
join tasks t on t.depth = 0 and t.added_by is null
join lanes l on l.lane = t.lane join crawls w on w.crawl = l.crawl join services s on s.service = l.service
left join user_keys k on k.service = l.service and k.key = t.target
where u.call > ? and u.until is null and u.reason <> 'not_found' and w.name = ?
    and (k.user_no = u.user_no or x.id = t.target or x.id = s.network || ':' || t.target)
order by t.task
"""
# Lists are asked for one by one too: that one could not be had leaves no tombstone, but the seed brought nothing.
_LISTS = f"""
select c.targets as target from calls c join lanes l on l.lane = c.lane join crawls w on w.crawl = l.crawl
join tasks t on t.lane = c.lane and t.target = c.targets
where c.call > ? and w.name = ? and c.objects = 1 and c.outcome = '{Outcome.NOT_FOUND}'
    and t.depth = 0 and t.added_by is null and t.visits = 1
order by c.call
"""
_SEEDS = """
select count(distinct t.target) as seeds from tasks t join lanes l on l.lane = t.lane join crawls w on w.crawl = l.crawl
where w.name = ? and t.depth = 0 and t.added_by is null
"""
_LANES = "select l.lane from lanes l join crawls w on w.crawl = l.crawl where w.name = ?"


class UnknownHandle(Struct, frozen=True, kw_only=True):
    """A seed that names an account by a handle which the service does not know, or whose account it does not show."""

    target: str
    reason: str
    at: datetime
    crawl: str
    service: str
    facet: str


async def unknown_handles(database: Database, after: int = 0) -> list[UnknownHandle]:
    """Handles among the seeds that led to nobody, each once; `after`: only calls with a higher number count."""
    async with database.reading() as tx:
        rows = await tx.fetch(HANDLES, after)
    latest = {(row["crawl"], row["service"], row["target"]): row for row in rows}
    return [_handle(row) for row in latest.values()]


async def left_alone_seeds(database: Database) -> list[UnknownHandle]:
    """Seeds, by handle or id, whose accounts asked not to be collected, each once."""
    async with database.reading() as tx:
        rows = await tx.fetch(_LEFT_ALONE)
    latest = {(row["crawl"], row["service"], row["target"]): row for row in rows}
    return [_handle(row) for row in latest.values()]


async def unknown_seeds(database: Database, crawl: str, after: int) -> list[str]:
    """Seeds of a crawl, by handle or id, that calls with a higher number did not find at the first look."""
    found = await unknown_handles(database, after)
    handles = [each.target for each in found if each.crawl == crawl and each.reason == Outcome.NOT_FOUND]
    async with database.reading() as tx:
        gone = [key for row in await tx.fetch(_GONE, after) for key in _keys(row["id"])]
        lanes = [row["lane"] for row in await tx.fetch(_LANES, crawl)]
        lists = [row["target"] for row in await tx.fetch(_LISTS, after, crawl)]
    return list(dict.fromkeys([*handles, *await _seeds_among(database, gone, lanes), *lists]))


async def closed_seeds(database: Database, crawl: str, after: int) -> dict[str, str]:
    """Seeds of a crawl that are there and not shown, as calls with a higher number found, each with the reason."""
    found = await unknown_handles(database, after)
    closed = {each.target: each.reason for each in found if each.crawl == crawl and each.reason != Outcome.NOT_FOUND}
    async with database.reading() as tx:
        return closed | {row["target"]: row["reason"] for row in await tx.fetch(_CLOSED, after, crawl)}


async def hopeless(database: Database, crawl: str, *, for_good: bool = False) -> str:
    """Why a crawl can bring nothing, in words: none of its seeds is there for us; empty if some may be. `for_good`: those that
    are there and not shown may be shown one day, and do not count."""
    not_found = await unknown_seeds(database, crawl, 0)
    closed = {} if for_good else await closed_seeds(database, crawl, 0)
    async with database.reading() as tx:
        row = await tx.fetch_one(_SEEDS, crawl)
    seeds = int(row["seeds"]) if row else 0
    if not seeds or len({*not_found, *closed}) < seeds:
        return ""
    if seeds == 1:
        return "its only seed was not found" if not_found else f"its only seed is {outcome_words(next(iter(closed.values())))}"
    return f"none of its {seeds:,} seeds was found" if not closed else f"none of its {seeds:,} seeds is to be seen"


async def last_call(database: Database) -> int:
    async with database.reading() as tx:
        row = await tx.fetch_one("select max(call) as call from calls")
    return int(row["call"] or 0) if row else 0


async def _seeds_among(database: Database, keys: Sequence[str], lanes: Collection[int]) -> list[str]:
    if not keys:
        return []
    statement = (
        f"select target from tasks where lane {database.any('bigint')} and target {database.any('text')} "
        "and depth = 0 and added_by is null and visits = 1 order by task"
    )
    async with database.reading() as tx:
        rows = await tx.fetch(statement, database.members(list(lanes)), database.members(list(keys)))
    return [row["target"] for row in rows]


def _keys(known: str) -> tuple[str, ...]:
    """What a seed may have said for this id: the id itself, or its key on its service."""
    return known, known.partition(":")[2], known.rpartition("/")[2]


def _handle(row: Row) -> UnknownHandle:
    return UnknownHandle(
        target=row["target"],
        reason=row["reason"],
        at=from_micros(row["at"]),
        crawl=row["crawl"],
        service=row["service"],
        facet=row["facet"],
    )
