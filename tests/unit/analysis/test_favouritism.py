"""How evenly attention is spread."""

from __future__ import annotations

import pytest

from bowerbird.analysis.favouritism import favouritism, in_words


def test_one_favourite_among_many_counts_as_many_and_all_alike_as_one() -> None:
    assert favouritism([3, 3, 3, 3]) == pytest.approx(1)
    assert favouritism([1_000_000, 1, 1, 1]) == pytest.approx(4, abs=1e-4)
    assert favouritism([2, 1, 1]) == pytest.approx(3 * (4 + 1 + 1) / 16)


@pytest.mark.parametrize("weights", [[], [5], [5, 0]])
def test_nobody_has_favourites_among_fewer_than_two(weights: list[float]) -> None:
    assert favouritism(weights) is None


def test_it_is_told_in_a_sentence() -> None:
    assert in_words(1.1, 5) == "it speaks to 5 accounts, to each about equally often"
    assert in_words(4, 12) == "it speaks to 12 accounts, so unevenly as if to 3.0 of them alone"
