"""Questions whose answers are packed columns. SQLite joins each column into one text by itself, of which numpy makes a column:
a driver that makes an object of every value takes several times as long."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from bowerbird.ports import Database, Transaction
from bowerbird.reports.blocks.columns import Array, Column, Numbers, Texts

Kinds = tuple[Literal["text", "number", "real"], ...]
_END, _UNKNOWN = "\x1f", "\x1e"
"""Between two texts, and in the place of one that is not known. Where a text holds such a sign its column is asked for anew."""
_LEAST = np.iinfo(np.int64).min


async def fetch_packed(database: Database, tx: Transaction, sql: str, kinds: Kinds, *values: Any) -> list[Column]:
    """What is found by columns, in its order; no columns: nothing found. `TooMuch` where SQLite cannot hold a column at once."""
    if database.dialect != "sqlite":
        return [packed(kind, column) for kind, column in zip(kinds, await tx.fetch_columns(sql, *values), strict=False)]
    (rows,), *joined = await tx.fetch_columns(_joined(sql, kinds), *values)
    if not rows:
        return []
    told = iter(column[0] for column in joined)
    columns = [_texts(rows, next(told), next(told)) if kind == "text" else _numbers(rows, next(told), kind) for kind in kinds]
    whole: list[Column] = [column for column in columns if column is not None]
    if len(whole) == len(columns):
        return whole
    found = await tx.fetch_columns(sql, *values)
    return [packed(kind, each) if column is None else column for kind, each, column in zip(kinds, found, columns, strict=True)]


@lru_cache(200)
def _joined(sql: str, kinds: Kinds) -> str:
    names = [f"c{n}" for n, _ in enumerate(kinds)]
    told = [_JOINED[kind].format(name) for name, kind in zip(names, kinds, strict=True)]
    return f"with found ({', '.join(names)}) as ({sql}) select count(*), {', '.join(told)} from found"


_JOINED = {
    "text": f"count({{0}}), group_concat(coalesce({{0}}, '{_UNKNOWN}'), '{_END}')",
    "number": "json_group_array({0})",
    "real": "json_group_array({0})",
}


def packed(kind: str, column: Any) -> Column:
    """Values of one kind as a column."""
    return Texts.of(column) if kind == "text" else Numbers.of(column, are_whole=kind == "number")


def _numbers(rows: int, joined: bytes, kind: str) -> Numbers:
    made = np.int64 if kind == "number" else np.float64
    unknown = joined.count(b"null")
    if not unknown:
        return Numbers(np.fromstring(joined[1:-1], made, sep=","))
    if unknown == rows:
        return Numbers.unknown(rows)
    values = np.fromstring(joined[1:-1].replace(b"null", b"%d" % _LEAST), made, sep=",")
    is_known = values != made(_LEAST)
    values[~is_known] = 0
    return Numbers(values, is_known)


def _texts(rows: int, known: int, joined: bytes) -> Texts | None:
    """So many texts, of which so many are known; None where they cannot be told apart."""
    if not known:
        return Texts.unknown(rows)
    ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == ord(_END))
    if len(ends) != rows - 1:
        return None
    bounds = np.zeros(rows + 1, np.int32)
    bounds[1:rows] = ends - np.arange(rows - 1)
    bounds[rows] = len(joined) - (rows - 1)
    content = joined.replace(_END.encode(), b"")
    return Texts(content, bounds) if known == rows else _without_unknown(content, bounds, rows - known)


def _without_unknown(content: bytes, bounds: Array, unknown: int) -> Texts | None:
    lengths = np.diff(bounds)
    is_unknown = lengths == 1
    is_unknown[is_unknown] = np.frombuffer(content, np.uint8)[bounds[:-1][is_unknown]] == ord(_UNKNOWN)
    if is_unknown.sum() != unknown or content.count(_UNKNOWN.encode()) != unknown:
        return None
    np.cumsum(lengths - is_unknown, out=bounds[1:])
    return Texts(content.replace(_UNKNOWN.encode(), b""), bounds, ~is_unknown)
