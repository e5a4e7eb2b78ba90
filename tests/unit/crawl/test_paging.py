"""Positions that lead back to one another are noticed with a single one of them remembered."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.crawl.answers.endless_lists import MOST_EMPTY, Trail, after
from bowerbird.model import Page, Saved, SavedPost

NOTHING = Saved()
NEWS = Saved(posts=(SavedPost("i", "k", "a", True),))


def pages_until_met(positions: Any) -> int:
    """How many pages are read until the position after one of them is the remembered one."""
    trail: Trail | None = None
    for number, position in enumerate(positions, 1):
        if trail is not None and position == trail.position:
            return number
        trail = after(trail, Page(cursor=position, results=1), NEWS)
    return 0


@given(st.integers(0, 200), st.integers(1, 200))
def test_every_cycle_is_found_within_a_few_of_its_rounds(before: int, length: int) -> None:
    way = (str(step if step < before else before + (step - before) % length) for step in range(100_000))
    assert before < pages_until_met(way) <= 3 * (before + length) + 2


def test_a_list_that_goes_on_is_never_taken_for_a_cycle() -> None:
    assert pages_until_met(islice(map(str, count()), 5_000)) == 0


@pytest.mark.parametrize("saved", [NOTHING, NEWS])
def test_pages_that_bring_nothing_are_counted(saved: Saved) -> None:
    trail = Trail("a", 100, 100)
    for number in range(MOST_EMPTY):
        trail = after(trail, Page(cursor=str(number), results=0), saved)
    assert (trail.empty, trail.barren) == (MOST_EMPTY, 0 if saved is NEWS else MOST_EMPTY)
    assert after(trail, Page(cursor="x", results=1), NEWS) == Trail("a", 99 - MOST_EMPTY, 100, 0, 0)
