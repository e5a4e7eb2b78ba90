"""How long statistics of a dashboard stand before they are counted anew."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bowerbird.studies.keeper import rest_after


@pytest.mark.parametrize(("took", "rests"), [(0.01, 30), (2, 100), (10, 300), (60, 600)])
def test_what_is_counted_quickly_is_counted_often(took: float, rests: int) -> None:
    assert rest_after(timedelta(seconds=took)) == timedelta(seconds=rests)
