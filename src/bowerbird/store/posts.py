"""Posts: inserted once, updated only when something changed, edits kept in history, tombstones respected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from bowerbird.model import Post, SavedPost, Subject
from bowerbird.ports import Database, Row
from bowerbird.store.fields import (
    POST_COUNTERS,
    POST_FIELDS,
    REFERENCES,
    Values,
    bare_post,
    changed_fields,
    history_texts,
    merged_post,
    post_values,
)
from bowerbird.store.parts import PartStatements, clear_parts, save_parts
from bowerbird.store.people import People
from bowerbird.store.raw import Packed, Packer
from bowerbird.store.sighting import Sighting
from bowerbird.store.users import COUNTERS_KEPT_EVERY

_stored = itemgetter(*POST_FIELDS)
_COLUMNS = ("id", "network", "author", *POST_FIELDS, "found_at", "found_by", "seen_at", "seen_by", "raw", "raw_dictionary")
_INSERT = f"insert into posts ({', '.join(_COLUMNS)}) values ({', '.join('?' for _ in _COLUMNS)}) on conflict (id) do nothing"
_WRITE = (
    f"update posts set {', '.join(f'{name} = ?' for name in POST_FIELDS)}, seen_at = ?, seen_by = ?, deleted_at = null, "
    "raw = coalesce(?, raw), raw_dictionary = case when cast(? as bigint) = 1 then ? else raw_dictionary end where post_no = ?"
)
_REMEMBER = "insert into post_history (post_no, at, call, before, after) values (?, ?, ?, ?, ?)"


class PostStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        text, bigint = database.any("text"), database.any("bigint")
        self.stored = f"select post_no, id, found_at, deleted_at, {', '.join(POST_FIELDS)} from posts where id {text}"
        self.numbers = f"select post_no, id from posts where id {text}"
        self.seen = f"update posts set seen_at = ?, seen_by = ? where post_no {bigint}"
        self.buried = f"select id, at from deletions where subject = 'post' and id {text}"
        self.dig_up = f"delete from deletions where subject = 'post' and id {text}"
        self.last_kept = f"select post_no, max(at) as at from post_history where post_no {bigint} group by post_no"
        self.parts = PartStatements(database)


class _Writes(Struct):
    """What one page does to the table, gathered so that each kind of write is one statement."""

    inserts: list[tuple[Any, ...]] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    counted: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Only counters changed: before and after, kept if enough time has passed."""
    history: list[tuple[Any, ...]] = field(default_factory=list)
    found_at: dict[int, int] = field(default_factory=dict)
    new: dict[str, Post] = field(default_factory=dict)
    rewritten: dict[str, Post] = field(default_factory=dict)
    """Tags, mentions and media may have changed with the text."""
    returned: list[str] = field(default_factory=list)


class _Page(Struct):
    """What the posts of one page need to know of the store and of each other."""

    people: People
    packer: Packer
    bare: set[str]
    """Posts whose content is not to be kept: their authors opted out."""
    buried: dict[str, int]
    observed_at: int


async def save_posts(s: Sighting, sql: PostStatements, posts: Sequence[Post], people: People, packer: Packer) -> list[SavedPost]:
    """Writes every post of the page, each once."""
    by_id = {post.id: post for post in posts}
    stored = {row["id"]: row for row in await s.fetch_in(sql.stored, by_id)}
    page = await _page(s, sql, by_id, stored, people, packer)
    writes = _Writes()
    for post in by_id.values():
        _save_one(s, writes, page, post, stored.get(post.id))
    await _write(s, sql, writes)
    numbers = await _numbers(s, sql, by_id, stored)
    await clear_parts(s, sql.parts, [numbers[known] for known in writes.rewritten])
    whole = [post for post in (*writes.new.values(), *writes.rewritten.values()) if post.id not in page.bare]
    await save_parts(s, sql.parts, list(by_id.values()), whole, numbers, people)
    return [SavedPost(post.id, post.key, post.author, post.id in writes.new) for post in by_id.values()]


async def _page(
    s: Sighting, sql: PostStatements, by_id: dict[str, Post], stored: dict[str, Row], people: People, packer: Packer
) -> _Page:
    bare = {post.id for post in by_id.values() if people.ids[post.author] in people.opted_out} if people.opted_out else set()
    buried = {row["id"]: row["at"] for row in await s.fetch_in(sql.buried, by_id.keys() - stored.keys())}
    buried |= {known: row["deleted_at"] for known, row in stored.items() if row["deleted_at"] is not None}
    return _Page(people, packer, bare, buried, await s.observed_at() if buried else s.at)


def _save_one(s: Sighting, writes: _Writes, page: _Page, post: Post, row: Row | None) -> None:
    if page.buried.get(post.id, -1) >= page.observed_at:
        return
    values, packed = _contents(s, page, post)
    if row is None:
        author = page.people.ids[post.author]
        writes.inserts.append((post.id, s.network, author, *values, s.at, s.call, s.at, s.call, *packed()))
        writes.new[post.id] = post
        if post.id in page.buried:
            writes.returned.append(post.id)
    elif post.id in page.bare:
        writes.unchanged.append(row["post_no"])
    elif row["deleted_at"] is not None:
        writes.rows.append(_row(s, row, values, packed()))
        writes.rewritten[post.id] = post
        writes.returned.append(post.id)
    else:
        _save_changes(s, writes, post, row, values, packed)


def _contents(s: Sighting, page: _Page, post: Post) -> tuple[Values, Callable[[], Packed]]:
    """The columns of a post and, on demand, its packed payload, without what its author wants kept out."""
    values = post_values(post)
    if page.bare and (post.id in page.bare or post.repost_of in page.bare):
        kept = bare_post(values) if post.id in page.bare else _without_copy(values)
        return kept, _nothing
    if page.bare and post.quote_of in page.bare:
        return values, _nothing
    return values, lambda: page.packer.pack((s.network, Subject.POST), post.raw)


def _nothing() -> Packed:
    return None, None


def _without_copy(values: Values) -> Values:
    return tuple(None if name in ("text", "links") else value for name, value in zip(POST_FIELDS, values, strict=True))


def _save_changes(s: Sighting, writes: _Writes, post: Post, row: Row, values: Values, packed: Callable[[], Packed]) -> None:
    old: Values = _stored(row)
    new = merged_post(old, values)
    number = row["post_no"]
    if old == new:
        writes.unchanged.append(number)
        return
    changed = changed_fields(POST_FIELDS, old, new)
    texts = history_texts(POST_FIELDS, changed, old, new)
    if POST_COUNTERS.issuperset(changed):
        writes.counted[number] = texts
        writes.found_at[number] = row["found_at"]
    elif not REFERENCES.issuperset(changed):
        writes.history.append((number, s.at, s.call, *texts))
        writes.rewritten[post.id] = post
    writes.rows.append(_row(s, row, new, packed()))


def _row(s: Sighting, row: Row, values: Values, packed: Packed) -> tuple[Any, ...]:
    return (*values, s.at, s.call, packed[0], int(packed[0] is not None), packed[1], row["post_no"])


async def _write(s: Sighting, sql: PostStatements, writes: _Writes) -> None:
    # In one order everywhere, so that two transactions never wait for each other in a circle.
    await s.execute_many(_INSERT, sorted(writes.inserts, key=itemgetter(0)))
    await s.execute_many(_WRITE, sorted(writes.rows, key=itemgetter(-1)))
    await s.execute_in(sql.seen, sorted(writes.unchanged), s.at, s.call)
    await s.execute_in(sql.dig_up, writes.returned)
    await s.execute_many(_REMEMBER, writes.history + await _due_counts(s, sql, writes))


async def _due_counts(s: Sighting, sql: PostStatements, writes: _Writes) -> list[tuple[Any, ...]]:
    """Counter-only changes of posts whose last line of history is old enough."""
    last = writes.found_at | {row["post_no"]: row["at"] for row in await s.fetch_in(sql.last_kept, writes.counted)}
    return [
        (number, s.at, s.call, *texts) for number, texts in writes.counted.items() if s.at - last[number] >= COUNTERS_KEPT_EVERY
    ]


async def _numbers(s: Sighting, sql: PostStatements, by_id: dict[str, Post], stored: dict[str, Row]) -> dict[str, int]:
    numbers = {known: row["post_no"] for known, row in stored.items()}
    missing = by_id.keys() - numbers.keys()
    return numbers | {row["id"]: row["post_no"] for row in await s.fetch_in(sql.numbers, missing)}
