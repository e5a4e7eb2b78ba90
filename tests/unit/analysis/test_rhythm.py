"""How well a time zone fits the hours of posts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.analysis.rhythm import rhythm


def posts(ahead: int, number: int = 48) -> list[datetime]:
    """Every hour from nine in the morning to midnight, somewhere so many hours ahead of UTC."""
    midnight = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(hours=ahead)
    return [midnight + timedelta(days=each // 16, hours=9 + each % 16) for each in range(number)]


@pytest.mark.parametrize("ahead", [-8, -3, 0, 9])
def test_rhythm_quiet_nights_give_time_zone(ahead: int) -> None:
    found = rhythm(posts(ahead))
    assert found is not None
    assert ahead in found.likely
    assert len(found.likely) <= 6
    assert found.fit(ahead) > 0.5 > found.fit(ahead + 6)
    assert sum(found.zones.values()) == pytest.approx(1, abs=0.01)


def test_rhythm_few_posts_give_none_and_even_hours_many_zones() -> None:
    assert rhythm(posts(0, 29)) is None
    always = rhythm([datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=each) for each in range(96)])
    assert always is not None
    assert len(always.likely) > 20
