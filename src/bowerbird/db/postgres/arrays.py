"""Statements over many rows as statements over arrays, for PostgreSQL: one question instead of one per row. Pure.

insert into t (a, b) values (?, ?) on conflict …
    becomes: insert into t (a, b) select v.v1, v.v2 from unnest(?::text[], ?::int8[]) as v (v1, v2) on conflict …
update t set a = ? where b = ?
    becomes: update t set a = v.v1 from unnest(?::text[], ?::int8[]) as v (v1, v2) where b = v.v2
A statement that is written over arrays stays as it is. One with many values takes a single array of rows of its table instead,
which costs a third: the columns of that carry values of their type, whatever they are called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

_INSERT = re.compile(r"\s*(insert into \w+ \([^)]*\)) values \([?, ]*\)([^?]*)")
_UPDATE = re.compile(r"\s*(update \w+ set .*?) (where [^?]*\?[^?]*)", re.DOTALL)
_WIDE = 6
"""Values of a row from which on they are carried together."""
_WRITTEN = re.compile(r"\b(?:insert into|update) (\w+)")


class Carried(NamedTuple):
    """A statement over one array of rows of a table, and which value each column of that carries; the last of all is none."""

    sql: str
    places: tuple[int, ...]

    def rows(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        arranged = itemgetter(*self.places)
        return [arranged((*row, None)) for row in rows]


def is_wide(sql: str) -> bool:
    return sql.count("?") >= _WIDE and "unnest(?" not in sql


@cache
def carried(sql: str, kinds: tuple[str, ...], table: tuple[str, ...]) -> Carried | None:
    """The same statement over an array of rows; None where the table (the types of its columns) cannot carry the values."""
    free = dict(enumerate(table))
    columns = []
    for kind in kinds:
        column = next((column for column, type_ in free.items() if type_ == kind), None)
        if column is None:
            return None
        del free[column]
        columns.append(column)
    values = [f"v.c{column}" for column in columns]
    source = f"unnest(?::{written_table(sql)}[]) as v ({', '.join(f'c{n}' for n, _ in enumerate(table))})"
    by_column = {column: value for value, column in enumerate(columns)}
    return Carried(_reading(sql, values, source), tuple(by_column.get(n, len(kinds)) for n, _ in enumerate(table)))


@cache
def over_arrays(sql: str, kinds: tuple[str, ...]) -> str:
    """The same statement with one array for each of its values; `kinds`: of what type each is."""
    if "unnest(?" in sql:
        return sql
    names = [f"v{n}" for n, _ in enumerate(kinds, 1)]
    arrays = f"unnest({', '.join(f'?::{kind}[]' for kind in kinds)}) as v ({', '.join(names)})"
    return _reading(sql, [f"v.{name}" for name in names], arrays)


def _reading(sql: str, values: Sequence[str], source: str) -> str:
    """The statement with what it reads from a table in the place of each of its values."""
    if found := _INSERT.fullmatch(sql):
        return f"{found[1]} select {', '.join(values)} from {source}{found[2]}"
    if found := _UPDATE.fullmatch(sql):
        following = iter(values)
        change, where = (re.sub(r"\?", lambda _: next(following), part) for part in found.groups())
        return f"{change} from {source} {where}"
    raise ValueError(f"neither an insert of values nor an update by one condition, so that it cannot be run over arrays: {sql}")


@cache
def together(statements: tuple[str, ...]) -> str:
    """Several statements that return nothing as one."""
    if len(statements) == 1:
        return statements[0]
    return "with " + ", ".join(f"w{n} as ({each})" for n, each in enumerate(statements)) + " select 1"


@cache
def asked_together(questions: tuple[str, ...]) -> str:
    """Several questions as one, which answers the rows of each as a list of records."""
    return "select " + ", ".join(f"(select array_agg(q) from ({each}) q)" for each in questions)


@cache
def written_table(sql: str) -> str:
    """The table that a statement changes."""
    found = _WRITTEN.search(sql)
    return found[1] if found else ""


@cache
def names_any(sql: str, tables: frozenset[str]) -> bool:
    """Whether a statement names one of the tables."""
    return not tables.isdisjoint(re.findall(r"\w+", sql))


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any] | None]:
    """The arrays of some rows, as many as one row has values. Where none has a value there is no array either: `unnest` fills up
    with nulls, and nothing is sent or read for it."""
    arrays: list[list[Any] | None] = [_array(column) for column in zip(*rows, strict=True)]
    if rows and not any(arrays):
        # It is an array that says how many rows there are.
        arrays[0] = [None] * len(rows)
    return arrays or [None] * width


def _array(column: tuple[Any, ...]) -> list[Any] | None:
    return None if column[0] is None and column.count(None) == len(column) else list(column)
