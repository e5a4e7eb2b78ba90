"""What a service no longer shows, kept apart from what it does: absent accounts, ended relations, deleted posts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Database, Row
from bowerbird.reports.seeds.unknown_seeds import unknown_handles
from bowerbird.store.posts.by_id import is_same

_BATCH = 5_000
_USERS = f"""
select a.user_no, u.id, u.handle, a.reason, a.since, a.until from unavailable a join users u on u.user_no = a.user_no
where (a.user_no, a.since) > (?, ?) order by a.user_no, a.since limit {_BATCH}
"""
_RELATIONS = f"""
select h.source as source_no, h.target as target_no, h.before_at, h.after_at, h.kind, s.id as source, t.id as target,
    case when r.removed_at is null then 1 else 0 end as is_back
from relation_history h join users s on s.user_no = h.source join users t on t.user_no = h.target
left join relations r on r.kind = h.kind and r.source = h.source and r.target = h.target
where h.change = 'removed' and (h.source, h.target, h.before_at) > (?, ?, ?)
order by h.source, h.target, h.before_at limit {_BATCH}
"""
_POSTS = f"""
select d.id, d.reason, d.at, p.found_at from deletions d left join posts p on {is_same("p.id", "d.id")}
where d.subject = 'post' and d.id > ? order by d.id limit {_BATCH}
"""


class AbsentUser(Struct, frozen=True, kw_only=True):
    """An account that was not to be had for a time."""

    id: str
    """Of a seed by handle that led to nobody: the handle."""
    handle: str | None
    reason: str
    since: datetime
    """When we were told."""
    until: datetime | None
    """When it was seen again, or absent for another reason; None: it is absent still."""


class EndedRelation(Struct, frozen=True, kw_only=True):
    """A relation that a whole listing no longer showed, or whose end a stream told."""

    source: str
    target: str
    kind: str
    after: datetime | None
    """It ended after this and"""
    before: datetime
    """before this."""
    is_back: bool
    """It exists again."""


class DeletedPost(Struct, frozen=True, kw_only=True):
    """A post that is gone, or was gone already when it was asked for by its id."""

    id: str
    reason: str
    at: datetime
    """When we were told."""
    was_stored: bool
    """It was seen before it went."""


Line = AbsentUser | EndedRelation | DeletedPost


def _user(row: Row) -> AbsentUser:
    return AbsentUser(
        id=row["id"], handle=row["handle"], reason=row["reason"], since=from_micros(row["since"]), until=_when(row["until"])
    )


def _relation(row: Row) -> EndedRelation:
    return EndedRelation(
        source=row["source"],
        target=row["target"],
        kind=row["kind"],
        after=_when(row["after_at"]),
        before=from_micros(row["before_at"]),
        is_back=bool(row["is_back"]),
    )


def _post(row: Row) -> DeletedPost:
    return DeletedPost(id=row["id"], reason=row["reason"], at=from_micros(row["at"]), was_stored=row["found_at"] is not None)


class _Table(Struct, frozen=True):
    sql: str
    start: tuple[Any, ...]
    after: Callable[[Row], tuple[Any, ...]]
    """Where the next batch goes on."""
    line: Callable[[Row], Line]


_TABLES: Mapping[str, _Table] = {
    "users": _Table(_USERS, (0, 0), lambda row: (row["user_no"], row["since"]), _user),
    "relations": _Table(_RELATIONS, (0, 0, 0), lambda row: (row["source_no"], row["target_no"], row["before_at"]), _relation),
    "posts": _Table(_POSTS, ("",), lambda row: (row["id"],), _post),
}
TABLES = tuple(_TABLES)


async def read_absences(database: Database, what: str) -> AsyncIterator[Line]:
    """Everything of one sort (`users`, `relations` or `posts`), batch by batch; the writer is never held up. The absences of
    one account follow each other."""
    table = _TABLES[what]
    after = table.start
    while rows := await _batch(database, table.sql, after):
        after = table.after(rows[-1])
        for row in rows:
            yield table.line(row)
    if what == "users":
        # Of several crawls that were given the same handle.
        for seed in {(each.service, each.target): each for each in await unknown_handles(database)}.values():
            name = seed.target.removeprefix("@")
            yield AbsentUser(id=seed.target, handle=name, reason=seed.reason, since=seed.at, until=None)


async def _batch(database: Database, sql: str, after: tuple[Any, ...]) -> Sequence[Row]:
    async with database.reading() as tx:
        return await tx.fetch(sql, *after)


def _when(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
