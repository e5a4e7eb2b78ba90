"""Takes content out of the store for good: what remains of a post or a profile is that it was there, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bowerbird.db.sqlite.short_columns import written
from bowerbird.db.texts import Checked
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import HOME, RETAINED, WITHDRAWN, is_home, withdrawing
from bowerbird.store.context import SaveContext
from bowerbird.store.fields import OPTS_OUT, POST_FIELDS, USER_FIELDS
from bowerbird.store.intake.quarantine import QuarantineStatements, forget_named
from bowerbird.store.payloads.frames import Frames
from bowerbird.store.posts.attachments import doubt_media, media_deleted
from bowerbird.store.posts.by_id import is_same
from bowerbird.store.posts.counts import add_counted, take_counted

_POST_CONTENT = [name for name in POST_FIELDS if name not in ("kind", "created_at", "listed_at")]
USER_CONTENT = [name for name in USER_FIELDS[:OPTS_OUT] if name != "is_protected"]
_BURY = """
insert into deletions (subject, id, reason, at, call) values (?, ?, ?, ?, ?)
on conflict (subject, id) do update set reason = excluded.reason where deletions.subject = 'user'
"""


_MARK = "update residue set is_left = 1 where is_left = 0"
"""Copies of what is deleted here may be left in unused places of the file, until it is written anew."""
_PAYLOAD = "post_no, frame, frame_place"
"""What must be known of a post to take its payload out of a frame."""


def has_content(prefix: str = "") -> str:
    """The condition that a post has content, be it deleted: a purge leaves none. Pictures need no words."""
    columns = (*_POST_CONTENT, "raw", "frame")
    return f"({prefix}deleted_at is null or {' or '.join(f'{prefix}{name} is not null' for name in columns)})"


def _emptied(names: Collection[str]) -> str:
    return ", ".join(f"{name} = null" for name in (*names, "raw", "raw_dictionary"))


def _filled(names: Collection[str]) -> str:
    return " or ".join(f"{name} is not null" for name in (*names, "raw"))


class PurgeStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        bigint = database.any("bigint")
        gone = f"(select id from posts where post_no {bigint})"
        self.quarantine = QuarantineStatements(database)
        self.posts_of = f"select post_no, id, told_by from posts where deleted_at is null and author {bigint}"
        # Also what was deleted and kept.
        self.posts_with_content = f"select post_no, id, told_by from posts where {has_content()} and author {bigint}"
        self.mark = f"update posts set {WITHDRAWN}, deleted_at = coalesce(deleted_at, ?) where post_no {bigint}"
        self.posts_told, self.content_told = (
            f"select post_no, id, told_by from posts where {there} and coalesce(told_by, ?) = ? and author {bigint}"
            for there in ("deleted_at is null", has_content())
        )
        # They are made of content, and nobody who reads them looks whether that is there.
        self.users_judged = (
            f"delete from judgements where subject = 'user' and id in (select id from users where user_no {bigint})"
        )
        self.users_judged_before = f"delete from judgement_history where id in (select id from users where user_no {bigint})"
        self.said_of_users = (
            self.users_judged,
            self.users_judged_before,
            # What people say of an account they say by its content too.
            *(f"delete from {table} where user_no {bigint}" for table in ("labels", "label_samples")),
        )
        self.posts_judged = f"delete from judgements where subject = 'post' and id in {gone}"
        self.users = (
            f"update users set {_emptied(USER_CONTENT)} where ({_filled(USER_CONTENT)}) and user_no {bigint}",
            f"delete from user_history where user_no {bigint}",
            f"delete from former_handles where user_no {bigint}",
            f"delete from user_tags where user_no {bigint}",
            f"delete from reactions where user_no {bigint}",
            f"update lists set name = null, description = null where owner {bigint}",
            *self.said_of_users,
        )
        self.frames = Frames(database)
        content = [written(database.dialect, name) for name in _POST_CONTENT]
        self.post_rows, self.unwanted_rows = (
            f"update posts set {_emptied(content)}, {told_by}, deleted_at = coalesce(deleted_at, ?) where post_no {bigint} "
            f"returning {_PAYLOAD}"
            for told_by in (WITHDRAWN, RETAINED)
        )
        self.reposts, self.quotes = (
            f"select c.post_no from posts g cross join posts c where g.post_no {bigint} and {is_same(f'c.{column}', 'g.id')}"
            for column in ("repost_of", "quote_of")
        )
        self.passed_on = (
            *(f"delete from {table} where post_no {bigint}" for table in ("post_history", "post_versions")),
            f"update posts set text = null, links = null, poll = null where post_no {bigint}",
        )
        self.payloads = (
            f"update posts set raw = null, raw_dictionary = null where post_no {bigint} "
            f"and (raw is not null or frame is not null) returning {_PAYLOAD}"
        )
        # Statistics count them without what they said: see modules/statistics.
        self.recount = f"insert into statistic_recounts (number) select post_no from posts where post_no {bigint}"
        tables = ("post_tags", "post_cashtags", "post_mentions", "media", "post_history", "post_versions", "reactions",
                  "word_study_posts", "word_study_labels")  # fmt: skip
        self.post_parts = (
            doubt_media(database),
            *(f"delete from {table} where post_no {bigint}" for table in tables),
            self.posts_judged,
            self.recount,
        )


async def purge_users(
    s: SaveContext,
    sql: PurgeStatements,
    users: Mapping[int, str],
    reason: str,
    *,
    told_by: int | None = None,
    new: Collection[int] = (),
) -> None:
    """Empties profiles (number to id), their history and everything they wrote, or only what one service told of it. Of those
    who are `new` on this page nothing else is stored yet."""
    if not users:
        return
    is_unwanted = reason == "opted_out"
    is_erased = not s.keeps_deleted or is_unwanted
    if is_erased and await forget_named(s, sql.quarantine, sql.quarantine.users, users):
        await mark_residue(s)
    if known := users.keys() - new:
        await _empty_users(s, sql, known, told_by, is_unwanted=is_unwanted)
    await record_deletions(s, "user", users.values(), reason)


async def mark_residue(s: SaveContext) -> None:
    """Has the file written anew at the next quiet moment: to be called where content was deleted, and only there."""
    await s.tx.execute(_MARK)


async def _empty_users(
    s: SaveContext, sql: PurgeStatements, users: Collection[int], told_by: int | None, *, is_unwanted: bool
) -> None:
    statements = sql.users if is_unwanted or not s.keeps_deleted else sql.said_of_users
    # Most who opt out are met for the first time: of them there is nothing to delete.
    if any([await s.execute_in(statement, users) for statement in statements]):
        await mark_residue(s)
    all_of = sql.posts_with_content if is_unwanted else sql.posts_of
    written = s.fetch_in(all_of, users) if told_by is None else s.fetch_in(sql.posts_told, users, told_by, told_by)
    own = [row["post_no"] for row in await written if _may_take(s, row)]
    await purge_posts(s, sql, own, is_unwanted=is_unwanted)


def _may_take(s: SaveContext, post: Row) -> bool:
    """Whether a post goes with its author: not by the word of a server that is not its home, once that has told it."""
    return not s.origin.homes or post["told_by"] != HOME or is_home(s, post["id"])


async def purge_told(s: SaveContext, sql: PurgeStatements, users: Collection[int]) -> None:
    """Empties what this service told of the posts of some accounts that wish it so by its word; what others told of them stays,
    and so do the profiles."""
    written = await s.fetch_in(sql.content_told, users, s.origin.number, s.origin.number)
    if written:
        await _erase_posts(s, sql, [row["post_no"] for row in written], sql.post_rows)


async def purge_posts(s: SaveContext, sql: PurgeStatements, posts: Collection[int], *, is_unwanted: bool = False) -> None:
    """Empties posts, what hangs on them, and the copies that reposts and quotes carry. `is_unwanted`: they are not gone, their
    author asked not to be collected. Where a crawl keeps what is deleted they are only marked,
    and lose what was judged of them."""
    if s.keeps_deleted and not is_unwanted:
        await take_counted(s, posts)
        await s.execute_in(sql.mark, posts, *withdrawing(s), s.at)
        await add_counted(s, posts)
        await s.execute_in(sql.posts_judged, posts)
        await s.execute_in(sql.recount, posts)
        return
    await _erase_posts(s, sql, posts, sql.unwanted_rows if is_unwanted else sql.post_rows)


async def _erase_posts(s: SaveContext, sql: PurgeStatements, posts: Collection[int], rows: str) -> None:
    if not posts:
        return
    await forget_named(s, sql.quarantine, sql.quarantine.posts, posts)
    emptied = await _purge_copies(s, sql, posts)
    await take_counted(s, posts)
    emptied += await s.fetch_in(rows, posts, *withdrawing(s), s.at)
    await add_counted(s, posts)
    await sql.frames.drop(s, emptied)
    for statement in sql.post_parts:
        await s.execute_in(statement, posts)
    await media_deleted(s)
    await mark_residue(s)


async def _purge_copies(s: SaveContext, sql: PurgeStatements, posts: Collection[int]) -> list[Row]:
    """Empties what others carry of these posts: reposts and quotes have a copy of what they pass on, and whoever passes on a
    quote has a copy of what is quoted there, and so on. Most posts have none, so they are looked for first."""
    reposts, quotes = await _numbers(s, sql.reposts, posts), await _numbers(s, sql.quotes, posts)
    carriers, news = reposts | quotes, quotes
    while news:
        news = (await _numbers(s, sql.reposts, news) | await _numbers(s, sql.quotes, news)) - carriers
        carriers |= news
    for statement in sql.passed_on:
        await s.execute_in(statement, sorted(reposts))
    return await s.fetch_in(sql.payloads, sorted(carriers))


async def _numbers(s: SaveContext, statement: str, posts: Collection[int]) -> set[int]:
    return {row["post_no"] for row in await s.fetch_in(statement, posts)}


async def record_deletions(s: SaveContext, subject: str, ids: Collection[str], reason: str) -> None:
    """Keeps the id with the time and the reason, of an account the last that was told: the next export must leave it out as
    well."""
    await s.execute_many(_BURY, Checked((subject, known, reason, s.at, s.call) for known in sorted(ids)))
