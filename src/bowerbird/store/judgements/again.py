"""Judges asked about posts that are stored already, as if their pages came now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bowerbird.model import Page, Post, PostKind, Saved, SavedPost, Seen, Subject, User, from_micros
from bowerbird.ports import Database, Judge, Row, Transaction
from bowerbird.store.judgements.rows import RulingWriter, read_judgements

_PROFILE = ("handle", "name", "location", "description", "language")


class JudgeAgain:
    """Asks judges about posts by number; what was deleted, and those who opted out, are left alone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        columns = ", ".join(f"u.{name}" for name in _PROFILE)
        self._posts = (
            f"select p.post_no, p.id, p.kind, p.text, p.language as post_language, p.created_at, u.id as author, {columns} "
            "from posts p join users u on u.user_no = p.author "
            f"where p.deleted_at is null and coalesce(u.opts_out, 0) = 0 and p.post_no {database.any('bigint')} "
            "order by p.post_no"
        )

    async def judge(self, tx: Transaction, judge: Judge, posts: Sequence[int], now: datetime) -> int:
        """Answers how many judgements were made."""
        rows = await tx.fetch(self._posts, self._database.members(list(posts))) if posts else ()
        if not rows:
            return 0
        seen = _seen(rows)
        items = {(Subject.POST, each.id) for each in seen.saved.posts} | {(Subject.USER, known) for known in seen.profiles}
        before = await read_judgements(tx, self._database, items)
        ruling = judge.judge(seen)
        # The call of what is judged by itself is none.
        await RulingWriter(judge, 0, now).write(tx, ruling, before)
        return len(ruling.judgements)


def _seen(rows: Sequence[Row]) -> Seen:
    """The posts as a page that shows them with the stored profiles of their authors."""
    profiles = {row["author"]: _profile(row) for row in rows}
    posts = tuple(_post(row) for row in rows)
    saved = tuple(SavedPost(row["id"], row["id"], row["author"], is_new=False) for row in rows)
    return Seen(page=Page(posts=posts), saved=Saved(posts=saved), profiles=profiles)


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


def _profile(row: Mapping[str, Any]) -> User:
    return User(id=row["author"], key=row["author"], **{name: row[name] for name in _PROFILE})
