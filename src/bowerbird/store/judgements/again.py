"""Judges asked about accounts and posts that are stored already, as if their pages came now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from bowerbird.model import Page, Post, PostKind, Saved, SavedPost, SavedUser, Seen, Subject, User, from_micros
from bowerbird.ports import Database, Judge, Row, Transaction
from bowerbird.store.judgements.rows import RulingWriter, earlier_judgements, read_judgements

_PROFILE = ("handle", "name", "location", "description", "language", "url", "time_zone")
_MAY = "coalesce(u.opts_out, 0) = 0"


class JudgeAgain:
    """Asks judges about what is stored, by number; what was deleted, and those who opted out, are left alone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        columns, number = ", ".join(f"u.{name}" for name in _PROFILE), database.any("bigint")
        self._posts = (
            f"select p.post_no, p.id, p.kind, p.text, p.language as post_language, p.created_at, u.id as author, {columns} "
            f"from posts p join users u on u.user_no = p.author where p.deleted_at is null and {_MAY} and p.post_no {number} "
            "order by p.post_no"
        )
        self._users = (
            f"select u.id as author, {columns} from users u where u.seen_at is not null and {_MAY} and u.user_no {number} "
            "and not exists (select 1 from deletions d where d.subject = 'user' and d.id = u.id) order by u.user_no"
        )

    async def posts(self, tx: Transaction, judge: Judge, posts: Sequence[int], now: datetime) -> int:
        """Answers how many judgements were made."""
        rows = await tx.fetch(self._posts, self._database.members(list(posts))) if posts else ()
        saved = tuple(SavedPost(row["id"], row["id"], row["author"], is_new=False) for row in rows)
        profiles = {row["author"]: _profile(row) for row in rows}
        seen = Seen(page=Page(posts=tuple(map(_post, rows))), saved=Saved(posts=saved), profiles=profiles)
        return await self._kept(tx, judge, seen, now)

    async def users(self, tx: Transaction, judge: Judge, users: Sequence[int], now: datetime) -> int:
        """The same by stored profiles."""
        rows = await tx.fetch(self._users, self._database.members(list(users))) if users else ()
        profiles = {row["author"]: _profile(row) for row in rows}
        saved = tuple(SavedUser(known, known, False, False, None, None) for known in profiles)
        page = Page(users=tuple(profiles.values()))
        seen = Seen(page=page, saved=Saved(users=saved), profiles=profiles, shown=frozenset(profiles))
        return await self._kept(tx, judge, seen, now)

    async def _kept(self, tx: Transaction, judge: Judge, seen: Seen, now: datetime) -> int:
        if not seen.profiles:
            return 0
        items = {(Subject.POST, each.id) for each in seen.saved.posts} | {(Subject.USER, known) for known in seen.profiles}
        before = await read_judgements(tx, self._database, items)
        ruling = judge.judge(structs.replace(seen, before=earlier_judgements(before)))
        # No call brought it.
        await RulingWriter(judge, 0, now).write(tx, ruling, before)
        return len(ruling.judgements)


def _post(row: Row) -> Post:
    at = row["created_at"]
    return Post(
        id=row["id"],
        key=row["id"],
        author=row["author"],
        kind=PostKind(row["kind"]),
        text=row["text"],
        language=row["post_language"],
        created_at=None if at is None else from_micros(at),
    )


def _profile(row: Row) -> User:
    return User(id=row["author"], key=row["author"], **{name: row[name] for name in _PROFILE})
