"""Columns that are read as a whole say the same as rows read one by one, on either database, whatever texts hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import TooMuch
from bowerbird.ports import Database
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Column, Lists, Numbers, Repeated, Texts
from bowerbird.reports.blocks.fetching import fetch_packed

TEXTS = {
    "plain": ["a", "", "two\r\nlines", 'a "b", [c]', "\U0001f469\u200d\U0001f467"],
    "some unknown": ["a", None, "", None, "é"],
    "all unknown": [None, None, None, None, None],
    "the sign between": ["a\x1fb", "c", "\x1f", "", "\x1f\x1f"],
    "the sign for unknown": ["\x1e", None, "a\x1e", "\x1e\x1e", ""],
    "both signs": ["\x1e\x1f\x1e", "\x1e", None, "\x1f", ""],
}
NUMBERS = [1, None, -(2**63) + 1, 2**63 - 1, 0]
REALS = [0.1, None, 1 / 3, -1e300, 5e-324]


async def packed(database: Database, texts: list[str | None]) -> list[list[Any]]:
    async with database.transaction() as tx:
        await tx.execute("create table packed (n bigint, t text, i bigint, r double precision)")
        rows = list(zip(range(5), texts, NUMBERS, REALS, strict=True))
        await tx.execute_many("insert into packed (n, t, i, r) values (?, ?, ?, ?)", rows)
        sql = "select n, t, i, r from packed where n < ? order by n desc"
        found = await fetch_packed(database, tx, sql, ("number", "text", "number", "real"), 5)
        assert await fetch_packed(database, tx, sql, ("number", "text", "number", "real"), 0) == []
    return [column.listed() for column in found]


@pytest.mark.parametrize("which", TEXTS)
async def test_what_is_packed_is_what_is_stored(database: Database, which: str) -> None:
    numbers, texts, whole, reals = await packed(database, TEXTS[which])
    assert numbers == [4, 3, 2, 1, 0]
    assert [None if each is None else each.decode() for each in texts] == TEXTS[which][::-1]
    assert whole == NUMBERS[::-1]
    assert reals == REALS[::-1]


async def test_more_than_sqlite_can_hold_in_a_value_is_told_apart() -> None:
    database = await open_database(":memory:", RealClock())
    async with database.transaction() as tx:
        with pytest.raises(TooMuch):
            await tx.fetch_columns("select zeroblob(1000000001)")
    await database.close()


@pytest.mark.parametrize(
    "column",
    [
        Texts.of(["a", None, "", "dé", b"e", None]),
        Texts.of(["a", "b", "c", "d", "e", "f"]),
        Numbers.of([1, None, 3, 4, 5, 6]),
        Repeated(np.array([0, 1, 1, 2, 0, 0]), ["x", None, b"z"]),
        Lists.of([["a", "b"], [], ["c"], ["d", "e"], [], ["f"]]),
        Lists.empty(6),
    ],
)
def test_kept_rows_are_those_that_a_list_would_keep(column: Column) -> None:
    listed = column.listed()
    assert len(column) == len(listed) == 6
    for number in range(64):
        mask = [bool(number >> place & 1) for place in range(6)]
        assert column.kept(np.array(mask)).listed() == [each for each, is_kept in zip(listed, mask, strict=True) if is_kept]


def test_a_block_is_cut_at_a_row() -> None:
    block = Block(3, {"text": Texts.of(["a", None, "c"])}, (Numbers.of([1, 2, 3]), Texts.of(["x", "y", "z"])), (3, "z"))
    first, others = block.cut(2)
    assert (first.rows, first.values("text"), first.last) == (2, [b"a", None], (2, "y"))
    assert (others.rows, others.values("text"), others.last) == (1, [b"c"], (3, "z"))
