"""Series of numbers over time, and their correlations."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from bowerbird.analysis.series import (
    Coefficient,
    at_lag_zero,
    coefficient,
    correlate,
    ranks,
    read_series,
    strongest,
)
from bowerbird.errors import UserError
from failures import raises_code


def test_correlate_shifted_series_is_strongest_at_its_lag() -> None:
    first = {place: float(value) for place, value in enumerate([1, 5, 2, 8, 3, 9, 4, 7, 2, 6])}
    second = {place + 1: 2 * value + 1 for place, value in first.items()}
    lags = correlate(first, second, 2)
    found = strongest({"posts": lags, "people": lags})
    assert found is not None
    assert (found.measure, found.lag, found.pairs, found.value, found.tried) == ("posts, Pearson", 1, 10, 1.0, 20)
    plainly = at_lag_zero(lags)
    assert plainly is not None
    assert plainly.lag == 0
    assert (plainly.pairs, "9" in plainly.description) == (9, True)
    assert strongest({"posts": []}) is None


def test_coefficient_by_rank_of_monotonic_pairs_have_no_interval() -> None:
    found = coefficient([1.0, 2, 3, 4, 5], [1.0, 4, 9, 16, 25], by_rank=True)
    assert found is not None
    assert not found.has_interval
    assert not re.search(r"\d", found.description)


def test_coefficients_and_intervals_match_published_values() -> None:
    ones = [43.0, 21, 25, 42, 57, 59]
    others = [99.0, 65, 79, 75, 87, 81]
    found = coefficient(ones, others)
    assert found is not None
    assert (found.value, found.low, found.high) == (0.5298, -0.4943, 0.938)
    order = coefficient(ones, others, by_rank=True)
    assert order is not None
    assert order.value == 0.7143
    # Wider than Pearson's would be for the same value.
    assert (order.low, order.high) == (-0.3556, 0.9739)
    assert ranks([3, 1, 3, 2]) == [3.5, 1.0, 3.5, 2.0]


def test_coefficient_constant_or_short_series_returns_none() -> None:
    assert coefficient([1.0] * 5, [1.0, 2, 3, 4, 5]) is None
    assert coefficient([1.0, 2, 3], [1.0, 2, 3]) is None


@pytest.mark.parametrize(
    "body",
    [
        b"day,share\n2026-03-01,12.5\n2026-03-02,13\n",
        b"\xef\xbb\xbf2026-03-01;12,5\n\n2026-03-02;13\n",
        b"2026-03-01T00:00:00+00:00\t12.5\n2026-03-02\t13\n",
    ],
)
def test_read_series_accepts_spreadsheet_formats(body: bytes) -> None:
    assert read_series(body)[1] == {datetime(2026, 3, 1, tzinfo=UTC): 12.5, datetime(2026, 3, 2, tzinfo=UTC): 13.0}


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        (b"", "file_unreadable", ""),
        (b"2026-03-01,1\n03/02/2026,2\n", "invalid", "'03/02/2026' 2"),
        (b"2026-03-01,1\n2026-03-02,x\n", "invalid", "'x' 2"),
        (b"2026-03-01,1\n2026-03-02,nan\n", "invalid", "'nan' 2"),
        (b"2026-03-01,1\n2026-03-01,2\n", "already_exists", "2026-03-01' 2"),
        (b"2026-03-01,1\n2026-03-02\n", "invalid", "'' 2"),
        (b"\xff\xfe\x00", "file_unreadable", "UTF-8"),
        (b"PK\x03\x04\0\0", "file_unreadable", "CSV"),
        (
            b"\n".join(b"%04d-01-01 %02d:%02d,1" % (2000 + n // 1440, n % 1440 // 60, n % 60) for n in range(20_001)),
            "too_large",
            "20,000",
        ),
    ],
)
def test_read_series_invalid_file_raises_with_line(body: bytes, code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        read_series(body)
    assert all(value in str(caught.value) for value in named.split())


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        (b"day,share of viewers\n2026-03-01,1\n", "share of viewers"),
        (b"Tag;Quote\n2026-03-01;1,5\n", "Quote"),
        (b"day\n2026-03-01,1\n", ""),
        (b"2026-03-01,1\n", ""),
    ],
)
def test_read_series_returns_second_heading(body: bytes, heading: str) -> None:
    assert read_series(body)[0] == heading


@pytest.mark.parametrize(
    ("found", "strength", "interval"),
    [
        (Coefficient(0.62, 0.41, 0.8), "strong", ["0.41", "0.80"]),
        (Coefficient(-0.4, -0.6, -0.2), "moderate", ["0.60", "0.20"]),
        (Coefficient(0.2, -0.001, 0.4), "chance", ["0.00", "0.40"]),
    ],
)
def test_coefficient_description_names_strength_and_interval(found: Coefficient, strength: str, interval: list[str]) -> None:
    assert strength in found.description
    assert re.findall(r"\d\.\d\d", found.description) == interval


def test_coefficient_description_tells_the_direction() -> None:
    rises, falls = (Coefficient(value, value - 0.1, value + 0.1).description.partition(";")[0] for value in (0.5, -0.5))
    assert rises != falls


def test_coefficient_constant_series_with_rounding_errors_returns_none() -> None:
    assert coefficient([0.1] * 10, [0.1] * 10) is None


@pytest.mark.parametrize("time", ["0001-01-01T00:00+14:00", "9999-12-31T23:00-14:00"])
def test_read_series_time_out_of_range_raises(time: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        read_series(f"2026-03-01,1\n{time},1\n".encode())
    assert repr(time) in caught.value.problem
    assert "line 2" in caught.value.problem


def test_read_series_first_row_with_invalid_time_is_no_heading() -> None:
    with raises_code(UserError, "invalid") as caught:
        read_series(b"03/01/2026,1\n2026-03-02,2\n")
    assert "'03/01/2026'" in caught.value.problem
    assert "line 1" in caught.value.problem


def test_read_series_oversized_field_raises() -> None:
    with raises_code(UserError, "invalid") as caught:
        read_series(b"day," + b"x" * 131_073)
    assert "line 1" in caught.value.problem
