"""Users, posts and relations as lines to look through, page by page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.db.sqlite.millions import by_number
from bowerbird.model import Side
from bowerbird.model.subjects.telling import is_gone
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.browsing.pages import Ask, PageOf

# What a crawl keeps of those who are gone is for exports that ask for it alone.
_TOLD = ("handle", "name", "description", "language", "followers", "following", "posts")
_IF_THERE = "case when {gone} then null else {value} end as {name}"
_GONE = is_gone("u")
_USERS = f"""
select u.user_no, u.id, u.network, {", ".join(_IF_THERE.format(gone=_GONE, value=f"u.{each}", name=each) for each in _TOLD)},
    u.found_at, u.seen_at
from users u where {{beyond}} order by u.user_no {{order}} limit ?
"""
_SAID = ("text", "language", "replies", "reposts", "likes")
_POSTS = f"""
select p.post_no, p.id, p.network, u.id as author, {_IF_THERE.format(gone=_GONE, value="u.handle", name="author_handle")},
    p.kind, p.created_at, p.found_at, p.deleted_at,
    {", ".join(_IF_THERE.format(gone="p.deleted_at is not null", value=f"p.{each}", name=each) for each in _SAID)}
from posts p join users u on u.user_no = p.author where {{beyond}} and {{chosen}} order by {{order}} limit ?
"""
_RELATIONS = f"""
select r.{{other}} as number, u.id, {", ".join(_IF_THERE.format(gone=_GONE, value=f"u.{each}", name=each) for each in _TOLD[:2])},
    r.kind, r.found_at, r.removed_at
from relations r join users u on u.user_no = r.{{other}}
where r.kind = ? and r.{{own}} = ? and {{beyond}} order by r.{{other}} {{order}} limit ?
"""
_NUMBER = "select user_no from users where id = ?"
_ENDS = {Side.FOLLOWERS: ("target", "source"), Side.FOLLOWING: ("source", "target")}
"""By side: the account's own end of the relation, and the other one."""


class UserLine(Struct, frozen=True, kw_only=True):
    """One account; `seen_at` None: it is known only by its id."""

    id: str
    network: str
    handle: str | None
    name: str | None
    description: str | None
    language: str | None
    followers: int | None
    following: int | None
    posts: int | None
    found_at: datetime
    seen_at: datetime | None


class PostLine(Struct, frozen=True, kw_only=True):
    """One post; `deleted_at`: since when it has no content any more."""

    id: str
    network: str
    author: str
    author_handle: str | None
    kind: str
    created_at: datetime | None
    text: str | None
    language: str | None
    replies: int | None
    reposts: int | None
    likes: int | None
    found_at: datetime
    deleted_at: datetime | None


class RelationLine(Struct, frozen=True, kw_only=True):
    """The account at the other end of a relation; `removed_at`: when it was first seen to have ended."""

    id: str
    handle: str | None
    name: str | None
    kind: str
    found_at: datetime
    removed_at: datetime | None


class PostFilter(Struct, frozen=True, kw_only=True):
    """Which posts are wanted; every condition must hold."""

    author: str | None = None
    """Global id."""


async def browse_users(database: Database, ask: Ask) -> PageOf[UserLine]:
    """Accounts in the order in which they were heard of."""
    beyond, after = ask.beyond("u.user_no")
    async with database.reading() as tx:
        rows = await tx.fetch(_USERS.format(beyond=beyond, order=ask.order), *after, ask.limit)
    return ask.page(rows, "user_no", _user)


async def browse_posts(database: Database, ask: Ask, wanted: PostFilter | None = None) -> PageOf[PostLine]:
    """Posts in the order in which they were stored."""
    beyond, after = ask.beyond("p.post_no")
    async with database.reading() as tx:
        chosen, values = await _chosen(tx, wanted or PostFilter())
        order = by_number("p.post_no", ask.order) if values else f"p.post_no {ask.order}"
        rows = await tx.fetch(_POSTS.format(beyond=beyond, chosen=chosen, order=order), *after, *values, ask.limit)
    return ask.page(rows, "post_no", _post)


async def browse_relations(database: Database, user: str, side: Side, ask: Ask, kind: str = "follow") -> PageOf[RelationLine]:
    """Who follows an account, or whom it follows, ended relations included; those heard of last first."""
    own, other = _ENDS[side]
    beyond, after = ask.beyond(f"r.{other}")
    async with database.reading() as tx:
        number = await _number_of(tx, user)
        statement = _RELATIONS.format(own=own, other=other, beyond=beyond, order=ask.order)
        rows = await tx.fetch(statement, kind, number, *after, ask.limit)
    return ask.page(rows, "number", _relation)


async def _chosen(tx: Transaction, wanted: PostFilter) -> tuple[str, tuple[Any, ...]]:
    if wanted.author is None:
        return "1 = 1", ()
    return "p.author = ?", (await _number_of(tx, wanted.author),)


async def _number_of(tx: Transaction, user: str) -> int:
    """The account's number; one that nobody has, where it is not known."""
    row = await tx.fetch_one(_NUMBER, user)
    return int(row["user_no"]) if row is not None else 0


def _user(row: Row) -> UserLine:
    return UserLine(**_values(row, UserLine.__struct_fields__))


def _post(row: Row) -> PostLine:
    return PostLine(**_values(row, PostLine.__struct_fields__))


def _relation(row: Row) -> RelationLine:
    return RelationLine(**_values(row, RelationLine.__struct_fields__))


def _values(row: Row, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: from_micros(row[name]) if name.endswith("_at") and row[name] is not None else row[name] for name in names}
