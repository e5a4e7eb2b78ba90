"""What services no longer show: unavailable accounts, ended relations, deleted posts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from msgspec import Struct

from bowerbird.model.wording import outcome_words
from bowerbird.ports import Database
from bowerbird.reports.columns import Columns
from bowerbird.reports.rows import from_row
from bowerbird.reports.seeds.unknown_seeds import unknown_handles
from bowerbird.store.posts.by_id import is_same

BATCH = 5_000


class AbsentUser(Struct, frozen=True, kw_only=True):
    """An account that was unavailable for a time; `until` is None if it still is. The id of an unknown seed is its handle."""

    id: str
    handle: str | None
    reason: str
    since: datetime
    until: datetime | None


class EndedRelation(Struct, frozen=True, kw_only=True):
    """A relation that ended between two times; `is_back` if it exists again."""

    source: str
    target: str
    kind: str
    after: datetime | None
    before: datetime
    is_back: bool


class DeletedPost(Struct, frozen=True, kw_only=True):
    """A post that was deleted, or did not exist when it was requested."""

    id: str
    reason: str
    at: datetime
    was_stored: bool


Deletion = AbsentUser | EndedRelation | DeletedPost
KINDS: dict[str, type[Deletion]] = {"users": AbsentUser, "relations": EndedRelation, "posts": DeletedPost}
TIMES = {"users": "since", "relations": "before", "posts": "at"}
"""The column by which the latest are found."""
COLUMNS: dict[str, Columns] = {
    name: {field.replace("_", " "): field for field in kind.__struct_fields__}
    | ({"reason": lambda row: outcome_words(row.reason)} if name != "relations" else {})
    for name, kind in KINDS.items()
}
_SQL = {
    "users": f"""
        select a.user_no as k1, a.since as k2, u.id, u.handle, a.reason, a.since, a.until
        from unavailable a join users u on u.user_no = a.user_no
        where (a.user_no, a.since) > (?, ?) order by a.user_no, a.since limit {BATCH}
    """,
    "relations": f"""
        select h.source as k1, h.target as k2, h.before_at as k3, s.id as source, t.id as target, h.kind, h.after_at as after,
            h.before_at as before, case when r.removed_at is null then 1 else 0 end as is_back
        from relation_history h join users s on s.user_no = h.source join users t on t.user_no = h.target
        left join relations r on r.kind = h.kind and r.source = h.source and r.target = h.target
        where h.change = 'removed' and (h.source, h.target, h.before_at) > (?, ?, ?)
        order by h.source, h.target, h.before_at limit {BATCH}
    """,
    "posts": f"""
        select d.id as k1, d.id, d.reason, d.at, case when p.found_at is null then 0 else 1 end as was_stored
        from deletions d left join posts p on {is_same("p.id", "d.id")}
        where d.subject = 'post' and d.id > ? order by d.id limit {BATCH}
    """,
}
_FIRST_KEYS: dict[str, tuple[object, ...]] = {"users": (0, 0), "relations": (0, 0, 0), "posts": ("",)}


async def read_deletions(database: Database, what: str) -> AsyncIterator[Deletion]:
    """Yield all deletions of one kind, of users also seeds without an account. Entries of one account follow each other."""
    after = _FIRST_KEYS[what]
    while True:
        async with database.reading() as tx:
            rows = await tx.fetch(_SQL[what], *after)
        if not rows:
            break
        after = tuple(rows[-1][f"k{place + 1}"] for place in range(len(after)))
        for row in rows:
            yield from_row(KINDS[what], row)
    if what == "users":
        for seed in {(each.service, each.target): each for each in await unknown_handles(database)}.values():
            handle = seed.target.removeprefix("@")
            yield AbsentUser(id=seed.target, handle=handle, reason=seed.reason, since=seed.at, until=None)
