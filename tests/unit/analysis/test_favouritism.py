"""How evenly attention is spread."""

from __future__ import annotations

import re

import pytest

from bowerbird.analysis.favouritism import describe_favouritism, favouritism


def test_favouritism_is_one_if_even_and_k_if_one_account() -> None:
    assert favouritism([3, 3, 3, 3]) == pytest.approx(1)
    assert favouritism([1_000_000, 1, 1, 1]) == pytest.approx(4, abs=1e-4)
    assert favouritism([2, 1, 1]) == pytest.approx(3 * (4 + 1 + 1) / 16)


@pytest.mark.parametrize("weights", [[], [5], [5, 0]])
def test_favouritism_fewer_than_two_returns_none(weights: list[float]) -> None:
    assert favouritism(weights) is None


def test_describe_favouritism_names_effective_number() -> None:
    assert re.findall(r"[\d.]+", describe_favouritism(1.1, 5)) == ["5"]
    assert re.findall(r"[\d.]+", describe_favouritism(4, 12)) == ["12", "3.0"]
