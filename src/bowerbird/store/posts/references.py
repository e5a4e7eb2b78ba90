"""What posts refer to by a server's own key: joined with the post itself, whichever of the two comes first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from bowerbird.db.sqlite.short_columns import written, written_rows
from bowerbird.model import Post
from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext, Writes
from bowerbird.store.people.names import PROVISIONAL

_COLUMNS = ("reply_to", "quote_of")
"""Servers name these by key where they do not show the post itself."""


class ReferenceStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        text = database.any("text")
        self.keys = (
            f"select k.key, p.id from post_keys k join posts p on p.post_no = k.post_no where k.service = ? and k.key {text}"
        )
        # The condition is that of the index, which holds only what waits for its post. PostgreSQL would read all of that to join
        # it with the list.
        is_wanted, wanted = "= any(?::text[])", ""
        if database.dialect == "sqlite":
            # A cross join: the list is gone through, in half the time that it takes to make a set of it first.
            is_wanted, wanted = "= wanted.value", "json_each(?) as wanted cross join "
        self.waiting = " union all ".join(
            f"select post_no, '{column}' as part, {column} as waiting from {wanted}posts where ({_waits(column)}) "
            f"and {column} {is_wanted}"
            for column in _COLUMNS
        )
        kept = {column: written(database.dialect, column) for column in _COLUMNS}
        self.join = {column: f"update posts set {kept[column]} = ? where post_no = ?" for column in _COLUMNS}


def _waits(column: str) -> str:
    return " or ".join(f"substr({column}, 1, {len(start)}) = '{start}'" for start in PROVISIONAL)


async def with_references(s: SaveContext, sql: ReferenceStatements, posts: Sequence[Post]) -> Sequence[Post]:
    """The same posts, referring by id to those that are stored already."""
    if not s.origin.has_local_keys:
        return posts
    start = s.origin.id_of("")
    ids = {start + row["key"]: row["id"] for row in await s.fetch_in(sql.keys, sorted(keys_of(s, posts)), s.origin.number)}
    return [_joined(post, ids) for post in posts] if ids else posts


def keys_of(s: SaveContext, posts: Collection[Post]) -> set[str]:
    """The keys by which posts refer to others."""
    start = s.origin.id_of("")
    named = {post.reply_to for post in posts} | {post.quote_of for post in posts}
    return {known.removeprefix(start) for known in named if known is not None and known.startswith(start)}


def referring(s: SaveContext, posts: Sequence[Post], found: Iterable[Row]) -> Sequence[Post]:
    """The same posts, referring by id to those that were found by their keys, and to each other."""
    if not s.origin.has_local_keys:
        return posts
    start = s.origin.id_of("")
    ids = named_here(s, posts) | {start + row["key"]: row["id"] for row in found}
    return [_joined(post, ids) for post in posts]


def named_here(s: SaveContext, posts: Iterable[Post]) -> dict[str, str]:
    """The ids of posts by those that stand for their keys until they come."""
    start = s.origin.id_of("")
    return {start + post.key: post.id for post in posts}


def _joined(post: Post, ids: Mapping[str, str]) -> Post:
    found = {name: ids[known] for name in _COLUMNS if (known := getattr(post, name)) in ids}
    return msgspec.structs.replace(post, **found) if found else post


async def join_waiting(s: SaveContext, sql: ReferenceStatements, posts: Collection[Post]) -> None:
    """Posts that came before one they refer to now refer to it by its id."""
    if not posts or not s.origin.has_local_keys:
        return
    members = s.database.members(list(named_here(s, posts)))
    await join(s, sql, posts, await s.tx.fetch(sql.waiting, members, members))


async def join(s: SaveContext, sql: ReferenceStatements, posts: Collection[Post], waiting: Sequence[Row]) -> None:
    for statement, rows in joining(s, sql, posts, waiting):
        await s.execute_many(statement, [tuple(row) for row in rows or ()])


def divided(waiting: Iterable[Row], written: Collection[int]) -> tuple[list[Row], list[Row]]:
    """What may be joined in the statement that writes some posts (by number), and what only after it: one statement changes a row
    once, and a post may wait for two."""
    taken, along, later = set(written), list[Row](), list[Row]()
    for row in waiting:
        (later if row["post_no"] in taken else along).append(row)
        taken.add(row["post_no"])
    return along, later


def joining(s: SaveContext, sql: ReferenceStatements, posts: Iterable[Post], waiting: Sequence[Row]) -> Writes:
    """What is written so that posts which wait for some of these refer to them by their ids."""
    if not waiting:
        return []
    ids = named_here(s, posts)
    found = {c: sorted((ids[row["waiting"]], row["post_no"]) for row in waiting if row["part"] == c) for c in _COLUMNS}
    return [(sql.join[c], written_rows(s.database.dialect, (c,), rows) or None) for c, rows in found.items()]
