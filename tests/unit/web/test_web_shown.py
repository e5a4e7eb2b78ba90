"""How numbers, stores and stretches of time are shown on pages."""

from __future__ import annotations

import pytest

from bowerbird.web.formats import NONE, number, rate, store_name
from bowerbird.web.pages.figures.shared import bulk


@pytest.mark.parametrize(
    ("value", "shown"), [(None, NONE), (12_345, "12,345"), (0.274, "0.27"), (25.2, "25.2"), (1_438.3, "1,438"), (7.0, "7")]
)
def test_large_numbers_have_no_parts(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(("a_second", "shown"), [(0.0, "0/s"), (0.7, "0.7/s"), (41.6, "42/s"), (0.02, "1.2/min"), (None, NONE)])
def test_a_rate_is_told_by_the_second_while_that_says_something(a_second: float | None, shown: str) -> None:
    assert rate(a_second) == shown


def test_a_store_is_named_without_its_folders() -> None:
    assert store_name("/home/ana/study/floods.db") == "floods.db"
    assert store_name("postgresql://crawler@db.example/floods") == "postgresql://crawler@db.example/floods"


def test_a_plot_begins_where_most_posts_are() -> None:
    assert bulk([1, 0, 0, 0, 0, 0, 50, 60, 70]) == 6, "one old post would take two thirds of the width"
    assert bulk([1, 50, 60, 70]) == 0, "where little is won nothing is left out"
    assert bulk([5, 5, 5]) == 0
    assert bulk([]) == 0
