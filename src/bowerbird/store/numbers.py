"""Numbers of accounts and posts: which columns hold them, and that none is ever given twice."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.ports import Database, Transaction

_NAMES = {"user_no": "users", "author": "users", "owner": "users", "post_no": "posts"}
"""Columns of these names hold numbers of accounts or posts in every table."""
_OTHERS: Mapping[tuple[str, str], str] = {
    ("relations", "source"): "users",
    ("relations", "target"): "users",
    ("relation_history", "source"): "users",
    ("relation_history", "target"): "users",
    ("statistic_counts", "key"): "users",
    ("statistic_counts", "other"): "users",
    ("statistic_counts", "example"): "posts",
    ("statistic_recounts", "number"): "posts",
}
"""Where a column of another name does; for some rows, where its table says so."""
MARKS: Mapping[str, tuple[str, ...]] = {
    "statistic_parts": ("first", "last", "through"),
    "word_studies": ("through", "top"),
    "remaps": ("users_at", "users_to", "posts_at", "posts_to"),
    "tombstone_state": ("place",),
    "highest_numbers": ("users", "posts"),
}
"""How far something has got in the order of the numbers: right for as long as no number is given twice."""
_HIGHEST = "(select max(coalesce((select max({1}) from {0}), 0), {0}) from highest_numbers)"
HIGHEST_USER, _HIGHEST_POST = _HIGHEST.format("users", "user_no"), _HIGHEST.format("posts", "post_no")
"""The highest number that was ever given (SQLite)."""
LAST_POST = "select coalesce((select max(post_no) from posts), 0) as there, posts as ever from highest_numbers"
"""The highest number of a post that is there, and the highest that went (SQLite)."""


def numbered_by(table: str, column: str) -> str | None:
    """Whether a column holds numbers of `users` or `posts`; None: of neither. A test asks it about every column of the schema."""
    return _OTHERS.get((table, column)) or _NAMES.get(column)


async def remember_numbers(tx: Transaction, database: Database) -> None:
    """To be called before accounts or posts are deleted: their numbers are not given again. PostgreSQL never does."""
    if database.dialect == "sqlite":
        await tx.execute(f"update highest_numbers set users = {HIGHEST_USER}, posts = {_HIGHEST_POST}")
