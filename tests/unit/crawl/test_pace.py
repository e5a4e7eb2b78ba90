"""How much a stream brings in its busiest second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bowerbird.crawl.streaming.stream import Pace

START = datetime(2026, 3, 1, tzinfo=UTC)
MOMENT = timedelta(milliseconds=300)


def test_what_comes_within_one_second_counts_together_however_it_is_cut() -> None:
    pace = Pace()
    for number in range(12):
        pace.heard(2, START + number * MOMENT)
    assert pace.busiest == 8


def test_a_burst_is_remembered_and_loses_half_its_weight_in_ten_minutes() -> None:
    pace = Pace()
    pace.heard(100, START)
    pace.heard(1, START + timedelta(seconds=5))
    assert pace.busiest in (99, 100)
    pace.heard(1, START + timedelta(minutes=10))
    assert pace.busiest == 50
    pace.heard(80, START + timedelta(minutes=20))
    assert pace.busiest == 80


def test_what_was_known_before_is_where_it_begins() -> None:
    pace = Pace()
    pace.recall(40)
    pace.recall(30)
    pace.heard(1, START)
    assert pace.busiest == 40


def test_a_clock_that_is_set_back_forgets_nothing() -> None:
    pace = Pace()
    pace.heard(10, START)
    pace.heard(1, START - timedelta(hours=1))
    assert pace.busiest >= 10
