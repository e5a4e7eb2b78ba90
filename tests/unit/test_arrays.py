"""Statements over many rows, written as statements over arrays."""

from __future__ import annotations

import pytest

from bowerbird.db.arrays import columns, over_arrays, together


def test_an_insert_takes_one_array_per_column() -> None:
    sql = "insert into t (a, b) values (?, ?) on conflict (a) do nothing returning a"
    expected = "insert into t (a, b) select * from unnest(?::text[], ?::int8[]) on conflict (a) do nothing returning a"
    assert over_arrays(sql, ("text", "int8")) == expected


def test_an_update_reads_its_values_from_the_arrays() -> None:
    sql = "update t set a = ?, b = coalesce(?, b) where c = ?"
    arrays = "unnest(?::text[], ?::int8[], ?::int8[]) as v (v1, v2, v3)"
    expected = f"update t set a = v.v1, b = coalesce(v.v2, b) from {arrays} where c = v.v3"
    assert over_arrays(sql, ("text", "int8", "int8")) == expected


@pytest.mark.parametrize("sql", ["delete from t where a = ?", "insert into t (a) select ? from u", "update t set a = ?"])
def test_what_cannot_be_rewritten_is_refused(sql: str) -> None:
    with pytest.raises(ValueError, match="cannot be run over arrays"):
        over_arrays(sql, ("text", "text", "text"))


def test_statements_without_rows_get_empty_arrays() -> None:
    assert columns([], 2) == [[], []]
    assert columns([("a", 1), ("b", 2)], 2) == [["a", "b"], [1, 2]]
    assert together(("x", "y")) == "with w0 as (x), w1 as (y) select 1"
