"""How evenly attention is spread."""

from __future__ import annotations

import pytest

from bowerbird.analysis.favouritism import favouritism


def test_one_favourite_among_many_counts_as_many_and_all_alike_as_one() -> None:
    assert favouritism([3, 3, 3, 3]) == pytest.approx(1)
    assert favouritism([1_000_000, 1, 1, 1]) == pytest.approx(4, abs=1e-4)
    assert favouritism([2, 1, 1]) == pytest.approx(3 * (4 + 1 + 1) / 16)


@pytest.mark.parametrize("weights", [[], [5], [5, 0]])
def test_nobody_has_favourites_among_fewer_than_two(weights: list[float]) -> None:
    assert favouritism(weights) is None
