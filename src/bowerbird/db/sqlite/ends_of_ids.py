"""What the indexes of ids are made of on SQLite: their ends, which grow with time on every network. PostgreSQL, whose indexes are
of whole ids, understands the same conditions."""

from __future__ import annotations

_OF_AN_ID = 13
_OF_A_REFERENCE = 10
"""Enough to tell one from another: an index of references need not have them in the order of time."""
_REFERENCES = frozenset({"reply_to", "repost_of", "quote_of"})


def end_of(id_: str, length: int = _OF_AN_ID) -> str:
    """The part of an id, or of a column with ids, that the indexes are made of, as in schema/sqlite.sql. Of a short
    id it is all, and in PostgreSQL, where nothing is counted from the end, of every id."""
    return f"substr({id_}, -{length})"


def is_same(column: str, id_: str) -> str:
    """The condition that an indexed column holds this id."""
    length = _OF_A_REFERENCE if column.rpartition(".")[2] in _REFERENCES else _OF_AN_ID
    return f"{end_of(column, length)} = {end_of(id_, length)} and {column} = {id_}"
