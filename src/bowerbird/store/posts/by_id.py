"""Posts and media looked up by their ids, which SQLite finds by the ends of the ids.

On every network an id ends with what the service counted up when the post was written: a record key, a snowflake. In an index of
whole ids each new post has a place of its own among millions; in an index of the ends all of them stand at its end, and that is a
quarter as large. PostgreSQL, where many write at once, keeps the index of whole ids, because only that can refuse a second row.
"""

from __future__ import annotations

from bowerbird.db.sqlite.ends_of_ids import end_of as end_of
from bowerbird.db.sqlite.ends_of_ids import is_same as is_same
from bowerbird.ports import Database


def with_ids(database: Database, posts: str = "posts") -> str:
    """The condition that a row of `posts` has one of the ids in one list parameter."""
    if database.dialect != "sqlite":
        return f"{posts}.id {database.any('text')}"
    # A cross join: the list is gone through, never the posts.
    return (
        f"{posts}.post_no in (select known.post_no from json_each(?) as wanted cross join posts known "
        f"where {is_same('known.id', 'wanted.value')})"
    )


def with_media(database: Database) -> str:
    """Which of the media in one list parameter any post shows; their index is made of ends as well."""
    if database.dialect != "sqlite":
        return f"select distinct id from media where id {database.any('text')}"
    return f"select distinct m.id from json_each(?) as wanted cross join media m where {is_same('m.id', 'wanted.value')}"
