"""The benchmark of one-line commands in its small form: both sides bring the same, and a figure comes out."""

from __future__ import annotations

import pytest

from benchmarks.everyday import measure


@pytest.mark.long
def test_commands_and_bare_loops_bring_as_many_posts() -> None:
    figures = measure(posts=60, rounds=1)
    assert figures["rows"]["timeline"] == (60, 60)
    assert figures["rows"]["hydrate"] == (60, 60)
    assert 0 < figures["rows"]["search"][0] <= 60
    assert figures["ratio"] > 0
