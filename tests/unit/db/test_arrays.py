"""Statements over many rows, written as statements over arrays."""

from __future__ import annotations

import pytest

from bowerbird.db.postgres.arrays import carried, columns, names_any, over_arrays, together, written_table


def test_an_insert_takes_one_array_per_column() -> None:
    sql = "insert into t (a, b) values (?, ?) on conflict (a) do nothing returning a"
    arrays = "unnest(?::text[], ?::int8[]) as v (v1, v2)"
    expected = f"insert into t (a, b) select v.v1, v.v2 from {arrays} on conflict (a) do nothing returning a"
    assert over_arrays(sql, ("text", "int8")) == expected


def test_an_update_reads_its_values_from_the_arrays() -> None:
    sql = "update t set a = ?, b = coalesce(?, b) where c = ?"
    arrays = "unnest(?::text[], ?::int8[], ?::int8[]) as v (v1, v2, v3)"
    expected = f"update t set a = v.v1, b = coalesce(v.v2, b) from {arrays} where c = v.v3"
    assert over_arrays(sql, ("text", "int8", "int8")) == expected


@pytest.mark.parametrize("sql", ["delete from t where a = ?", "insert into t (a) select ? from u", "update t set a = ?"])
def test_what_cannot_be_rewritten_is_refused(sql: str) -> None:
    with pytest.raises(ValueError) as caught:
        over_arrays(sql, ("text", "text", "text"))
    assert sql in str(caught.value)


def test_what_is_written_over_arrays_stays_as_it_is() -> None:
    sql = "insert into t (a) select v.a from unnest(?::text[]) as v (a) where v.a <> ''"
    assert over_arrays(sql, ("text[]",)) == sql


def test_rows_of_the_table_carry_values_of_their_types_wherever_there_is_room() -> None:
    over = carried(
        "update t set a = coalesce(?, a), b = ? where c = ?", ("text", "int8", "int8"), ("int8", "text", "int2", "int8")
    )
    assert over is not None
    source = "unnest(?::t[]) as v (c0, c1, c2, c3)"
    assert over.sql == f"update t set a = coalesce(v.c1, a), b = v.c0 from {source} where c = v.c3"
    assert over.rows([("x", 1, 2)]) == [(1, "x", None, 2)]
    inserted = carried("insert into t (a) values (?) returning a", ("text",), ("int8", "text"))
    assert inserted is not None
    assert inserted.sql == "insert into t (a) select v.c1 from unnest(?::t[]) as v (c0, c1) returning a"


def test_a_table_without_enough_columns_of_a_type_carries_nothing() -> None:
    assert carried("insert into t (a, b) values (?, ?)", ("text", "text"), ("text", "int8")) is None


def test_the_table_of_a_statement_is_found_and_what_names_it() -> None:
    assert written_table("with v as (select 1 for update) update t set a = 1") == "t"
    assert written_table("insert into u (a) values (?) on conflict (a) do update set a = 1") == "u"
    assert names_any("select a from t join u on true", frozenset({"u", "w"}))
    assert not names_any("select a from tu", frozenset({"t", "u"}))


def test_values_that_no_row_has_get_no_array() -> None:
    assert columns([], 2) == [None, None]
    assert columns([("a", 1), ("b", 2)], 2) == [["a", "b"], [1, 2]]
    assert columns([("a", None), (None, None)], 2) == [["a", None], None]
    assert columns([(None, None), (None, None)], 2) == [[None, None], None]


def test_several_statements_become_one() -> None:
    assert together(("x", "y")) == "with w0 as (x), w1 as (y) select 1"
