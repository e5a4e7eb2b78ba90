"""Posts looked up by their ids, which SQLite finds by the ends of the ids.

On every network an id ends with what the service counted up when the post was written: a record key, a snowflake. In an index of
whole ids each new post has a place of its own among millions; in an index of the ends all of them stand at its end, and that is a
quarter as large. PostgreSQL, where many write at once, keeps the index of whole ids, because only that can refuse a second row.
"""

from __future__ import annotations

from bowerbird.ports import Database


def end_of(id_: str) -> str:
    """The part of an id, or of a column with ids, that the indexes are made of; the migrations spell it the same way."""
    return f"substr({id_}, length({id_}) - 18)"


def is_same(column: str, id_: str) -> str:
    """The condition that an indexed column holds this id."""
    return f"{end_of(column)} = {end_of(id_)} and {column} = {id_}"


def with_ids(database: Database, posts: str = "posts") -> str:
    """The condition that a row of `posts` has one of the ids in one list parameter."""
    if database.dialect != "sqlite":
        return f"{posts}.id {database.any('text')}"
    # A cross join: the list is gone through, never the posts.
    return (
        f"{posts}.post_no in (select known.post_no from json_each(?) as wanted cross join posts known "
        f"where {is_same('known.id', 'wanted.value')})"
    )
