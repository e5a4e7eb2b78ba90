"""What the indexes of ids are made of on SQLite: their ends, which grow with time on every network. PostgreSQL, whose indexes are
of whole ids, understands the same conditions."""

from __future__ import annotations


def end_of(id_: str) -> str:
    """The part of an id, or of a column with ids, that the indexes are made of; the migrations spell it the same way. Of a short
    id it is all, and in PostgreSQL, where nothing is counted from the end, of every id."""
    return f"substr({id_}, -13)"


def is_same(column: str, id_: str) -> str:
    """The condition that an indexed column holds this id."""
    return f"{end_of(column)} = {end_of(id_)} and {column} = {id_}"
