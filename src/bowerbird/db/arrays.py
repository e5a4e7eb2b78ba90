"""Statements over many rows as statements over arrays, for PostgreSQL: one question instead of one per row. Pure.

insert into t (a, b) values (?, ?) on conflict …
    becomes: insert into t (a, b) select * from unnest(?::text[], ?::int8[]) on conflict …
update t set a = ? where b = ?
    becomes: update t set a = v.v1 from unnest(?::text[], ?::int8[]) as v (v1, v2) where b = v.v2
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any

_INSERT = re.compile(r"\s*(insert into \w+ \([^)]*\)) values \([?, ]*\)([^?]*)")
_UPDATE = re.compile(r"\s*(update \w+ set .*) (where [^?]*\?[^?]*)", re.DOTALL)


@cache
def over_arrays(sql: str, kinds: tuple[str, ...]) -> str:
    """The same statement with one array for each of its values; `kinds`: of what type each is."""
    arrays = ", ".join(f"?::{kind}[]" for kind in kinds)
    if found := _INSERT.fullmatch(sql):
        return f"{found[1]} select * from unnest({arrays}){found[2]}"
    if found := _UPDATE.fullmatch(sql):
        names = ", ".join(f"v{n}" for n, _ in enumerate(kinds, 1))
        numbers = count(1)
        change, where = (re.sub(r"\?", lambda _: f"v.v{next(numbers)}", part) for part in found.groups())
        return f"{change} from unnest({arrays}) as v ({names}) {where}"
    raise ValueError(f"neither an insert of values nor an update by one condition, so that it cannot be run over arrays: {sql}")


@cache
def together(statements: tuple[str, ...]) -> str:
    """Several statements that return nothing as one."""
    if len(statements) == 1:
        return statements[0]
    return "with " + ", ".join(f"w{n} as ({each})" for n, each in enumerate(statements)) + " select 1"


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """The arrays of some rows, as many as one row has values."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
