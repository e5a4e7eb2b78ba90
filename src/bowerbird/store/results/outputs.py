"""What everyday commands were given and how far their output is written: a killed one goes on from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from bowerbird.ports import Transaction

_READ = "select base, result, size, rows from outputs where crawl = ? and path = ?"
_KEEP = """
insert into outputs (crawl, path, base, result, size, rows) values (?, ?, ?, ?, ?, ?) on conflict (crawl, path) do update set
    base = excluded.base, result = excluded.result, size = excluded.size, rows = excluded.rows
"""
_ADD_INPUT = "insert into inputs (crawl, number, written, columns) values (?, ?, ?, ?) on conflict do nothing"
_MEAN_INPUT = "update inputs set service = ?, target = ? where crawl = ? and written = ?"


class Position(Struct, frozen=True):
    """How far an output is written."""

    base: int = 0
    result: int = 0
    size: int = 0
    rows: int = 0


async def read_position(tx: Transaction, crawl: int, path: str) -> Position | None:
    row = await tx.fetch_one(_READ, crawl, path)
    return None if row is None else Position(row["base"], row["result"], row["size"], row["rows"])


async def keep_position(tx: Transaction, crawl: int, path: str, position: Position) -> None:
    await tx.execute(_KEEP, crawl, path, position.base, position.result, position.size, position.rows)


async def add_inputs(tx: Transaction, crawl: int, inputs: Iterable[tuple[int, str, Mapping[str, str]]]) -> None:
    """Inputs by number, as they were written, with the columns beside them."""
    rows = [(crawl, number, text, msgspec.json.encode(columns).decode()) for number, text, columns in inputs]
    await tx.execute_many(_ADD_INPUT, rows)


async def mean_inputs(tx: Transaction, crawl: int, meant: Iterable[tuple[int, str, str]]) -> None:
    """Which service and target each input turned out to be, by how it was written."""
    await tx.execute_many(_MEAN_INPUT, [(service, target, crawl, text) for service, target, text in meant])
