"""Tells again what searches and streams listed, for queues that lack its authors: of facets or rules the flow got later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from bowerbird.clock import from_micros
from bowerbird.model import Page, Post, PostKind, Recalled, Saved, SavedPost, SavedUser, Service, Subject, TaskState, User
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.judgements.rows import current_values, read_judgements
from bowerbird.store.people.names import has_local_keys, id_for
from bowerbird.store.services import registered_service

CHUNK = 1_000
_UPTO = """
select sighting, at from (select sighting, at from sightings where sighting > ? order by sighting limit ?) as next
order by sighting desc limit 1
"""
_POST = ("id", "kind", "text", "language", "replies", "reposts", "likes", "quotes")
_USER = ("id", "handle", "name", "description", "location", "language", "followers", "following", "posts")
_FLAGS = ("is_protected", "is_bot", "is_verified", "opts_out")
# A task is well when it waits, will come due, was given up or retired, or was visited after the post was listed.
_IS_WELL = (
    f"t.ready = 1 or t.due is not null or t.state in ('{TaskState.FAILED}', '{TaskState.RETIRED}') or t.visited_at >= listed.at"
)


Listed = Sequence[tuple[int, Page, Saved]]


class Recall:
    """Implements `ports.Recall` on either database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recall(
        self, tx: Transaction, service: Service, sources: Sequence[int], queues: Sequence[int], after: int
    ) -> Recalled | None:
        """The next sightings after one, as far as a queue lacks their author; None when there are no more."""
        end = await tx.fetch_one(_UPTO, after, CHUNK)
        if end is None:
            return None
        number, network, _ = await registered_service(tx, service.name)
        sql = self._statement(service, number, network, queues)
        rows = await tx.fetch(sql, after, end["sighting"], self._database.members(list(sources)))
        lacking = {(lane, row["key"]) for row in rows for lane in queues if row[f"lacks_{lane}"]}
        pages = await self._judged(tx, _pages(rows))
        return Recalled(pages=pages, lacking=frozenset(lacking), upto=end["sighting"], at=from_micros(end["at"]))

    async def _judged(self, tx: Transaction, pages: Listed) -> tuple[tuple[int, Page, Saved], ...]:
        """The pages with what judges said of their posts and authors."""
        saved = [each for _, _, each in pages]
        items = {(Subject.POST, post.id) for each in saved for post in each.posts}
        items |= {(Subject.USER, user.id) for each in saved for user in each.users}
        judged = current_values(await read_judgements(tx, self._database, items))
        return tuple((lane, page, structs.replace(each, judged=judged)) for lane, page, each in pages)

    def _statement(self, service: Service, number: int, network: str, queues: Sequence[int]) -> str:
        posts = ", ".join(f"p.{name} as post_{name}" for name in _POST)
        users = ", ".join(f"u.{name} as user_{name}" for name in (*_USER, *_FLAGS))
        lacks = ", ".join(
            f"case when exists (select 1 from tasks t where t.lane = {lane:d} and t.target = listed.key and ({_IS_WELL})) "
            f"then 0 else 1 end as lacks_{lane:d}"
            for lane in queues
        )
        return (
            f"select * from (select listed.*, {lacks} from ("
            f"select g.sighting, g.lane, g.at, {posts}, {users}, {_key(service, number, network)} as key "
            "from sightings g join posts p on p.post_no = g.post_no join users u on u.user_no = p.author "
            f"where g.sighting > ? and g.sighting <= ? and g.lane {self._database.any('bigint')} and p.deleted_at is null"
            f") as listed where listed.key is not null) as lacking where {' or '.join(f'lacks_{lane:d} = 1' for lane in queues)} "
            # The newest first: it is also asked about first where all else is equal.
            "order by sighting desc"
        )


def _key(service: Service, number: int, network: str) -> str:
    """What the service calls the author, in SQL."""
    if has_local_keys(network):
        return f"(select min(k.key) from user_keys k where k.user_no = u.user_no and k.service = {number:d})"
    return f"substr(u.id, {len(id_for(network, service.name, '')) + 1:d})"


def _pages(rows: Sequence[Row]) -> Listed:
    by_lane: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_lane[row["lane"]].append(row)
    return [(lane, *_page(listed)) for lane, listed in by_lane.items()]


def _page(rows: Sequence[Row]) -> tuple[Page, Saved]:
    users = {row["key"]: _user(row) for row in rows}
    posts = tuple(_post(row) for row in rows)
    known = tuple(SavedUser(user.id, user.key, True, True, None, user.posts) for user in users.values())
    saved = tuple(SavedPost(post.id, post.key, post.author, True) for post in posts)
    return Page(users=tuple(users.values()), posts=posts), Saved(users=known, posts=saved)


def _user(row: Row) -> User:
    flags: dict[str, Any] = {name: None if row[f"user_{name}"] is None else bool(row[f"user_{name}"]) for name in _FLAGS}
    return User(key=row["key"], **{name: row[f"user_{name}"] for name in _USER}, **flags)


def _post(row: Row) -> Post:
    values = {name: row[f"post_{name}"] for name in _POST if name != "kind"}
    return Post(key=row["post_id"], author=row["user_id"], kind=PostKind(row["post_kind"]), **values)
