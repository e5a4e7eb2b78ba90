"""Correlate two series of numbers at several lags, and read a series over time from a CSV file."""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from math import atanh, sqrt, tanh
from statistics import correlation

from msgspec import Struct

from bowerbird.analysis.agreement import Z
from bowerbird.errors import UserError

MAX_BYTES = 1_000_000
MAX_ROWS = 20_000
_FORMAT = "use a CSV file with two columns, a time and a number, such as `2026-03-01,12.5`"
_FEW_PAIRS = 10
"""With fewer pairs almost any correlation occurs by chance."""
_STRENGTHS = ((0.7, "very strong"), (0.5, "strong"), (0.3, "moderate"), (0.0, "weak"))


class Coefficient(Struct, frozen=True):
    """A correlation with its 95 % interval by Fisher's transformation."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """False if all pairs lie on one line: then the formula gives no width."""
        return self.low < self.high

    @property
    def description(self) -> str:
        """The meaning of the coefficient, for readers without statistics."""
        if not self.has_interval:
            return "perfect on these pairs, so that no interval can be given"
        if self.low <= 0 <= self.high:
            return f"may be chance: {two_places(self.low)} to {two_places(self.high)} are all compatible with these numbers"
        strength = next(word for least, word in _STRENGTHS if abs(self.value) >= least)
        direction = "both rise together" if self.value > 0 else "one falls when the other rises"
        return f"{strength}: {direction}; 95 % interval {two_places(self.low)} to {two_places(self.high)}"


class Lagged(Struct, frozen=True, kw_only=True):
    """The correlations of two series if the second is taken `lag` steps later."""

    lag: int
    pairs: int
    pearson: Coefficient | None
    """None if there are fewer than four pairs, or one of the series is constant."""
    spearman: Coefficient | None

    @property
    def description(self) -> str:
        """The meaning of Pearson's coefficient, or why there is none."""
        if self.pearson is None:
            return "one of the two never changes, or there are fewer than four pairs"
        if self.pairs < _FEW_PAIRS:
            return f"too few pairs: {self.pairs}; with fewer than {_FEW_PAIRS} any number may be chance"
        return self.pearson.description


class Strongest(Struct, frozen=True, kw_only=True):
    """The correlation with the largest absolute value of several."""

    measure: str
    lag: int
    pairs: int
    value: float
    tried: int
    """The number of correlations that it was chosen from."""

    @property
    def description(self) -> str:
        few = f", from only {self.pairs} pairs" if self.pairs < _FEW_PAIRS else ""
        return f"{self.measure}, at lag {self.lag}{few}; the best of so many is high by chance alone, and proves nothing"


def correlate(first: Mapping[int, float], second: Mapping[int, float], max_lag: int) -> list[Lagged]:
    """Return the correlations for every lag from `-max_lag` to `max_lag`; both series map a step in time to a number."""
    correlations = []
    for lag in range(-max_lag, max_lag + 1):
        pairs = [(first[step], second[step + lag]) for step in sorted(first) if step + lag in second]
        ones, others = [one for one, _ in pairs], [other for _, other in pairs]
        pearson, spearman = coefficient(ones, others), coefficient(ones, others, by_rank=True)
        correlations.append(Lagged(lag=lag, pairs=len(pairs), pearson=pearson, spearman=spearman))
    return correlations


def at_lag_zero(correlations: Sequence[Lagged]) -> Lagged | None:
    return next((each for each in correlations if each.lag == 0), None)


def strongest(by_measure: Mapping[str, Sequence[Lagged]]) -> Strongest | None:
    """Return the strongest correlation of all measures and lags; of equal ones that with the smallest lag."""
    tried = [
        (f"{measure}, {method}", each, coefficient.value)
        for measure, lags in by_measure.items()
        for each in lags
        for method, coefficient in (("Pearson", each.pearson), ("Spearman", each.spearman))
        if coefficient is not None
    ]
    if not tried:
        return None
    measure, each, value = max(tried, key=lambda one: (abs(one[2]), -abs(one[1].lag)))
    return Strongest(measure=measure, lag=each.lag, pairs=each.pairs, value=value, tried=len(tried))


def coefficient(ones: Sequence[float], others: Sequence[float], *, by_rank: bool = False) -> Coefficient | None:
    """Return Pearson's coefficient, or Spearman's by rank; None for fewer than four pairs or a constant series."""
    # The mean of equal numbers may differ from them by rounding, which would hide that a series is constant.
    if len(ones) < 4 or min(ones) == max(ones) or min(others) == max(others):
        return None
    if by_rank:
        ones, others = ranks(ones), ranks(others)
    value = correlation(ones, others)
    if abs(value) >= 1 - 1e-12:
        exact = round(value, 4)
        return Coefficient(exact, exact, exact)
    # Ranks vary a little more than numbers (Bonett and Wright).
    widening = sqrt(1 + value * value / 2) if by_rank else 1.0
    half_width = Z * widening / sqrt(len(ones) - 3)
    low, high = (round(tanh(atanh(value) + sign * half_width), 4) for sign in (-1, 1))
    return Coefficient(round(value, 4), low, high)


def ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


def two_places(value: float) -> str:
    """Return the number with two decimal places, and without a sign if they are zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def read_series(body: bytes) -> tuple[str, dict[datetime, float]]:
    """Return the heading of the second column, if there is one, and the numbers by time.

    Times are in UTC unless they have a zone. Raise `UserError` with the line that is invalid.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("the file is not text in UTF-8", _FORMAT, code="file_unreadable") from error
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    separator = next((each for each in (";", "\t") if each in first_line), ",")
    # With another separator, a comma is the decimal point.
    decimal_point = "." if separator == "," else ","
    reader = csv.reader(StringIO(text), delimiter=separator)
    heading = ""
    series: dict[datetime, float] = {}
    try:
        for number, row in enumerate(row for row in reader if any(cell.strip() for cell in row)):
            written_time, written_value = [*map(str.strip, row), ""][:2]
            time, value = _parse_time(written_time), _parse_number(written_value, decimal_point)
            if number == 0 and time is None and value is None:
                heading = written_value
                continue
            place = f"in line {reader.line_num}"
            if time is None:
                raise UserError(f"invalid time {written_time[:40]!r} {place}", "use 2026-03-01, 2026-03-01 18:00 or 2026-03")
            # Larger numbers and `nan` cannot be compared.
            if value is None or not abs(value) < 1e15:
                raise UserError(f"invalid number {written_value[:40]!r} {place}", _FORMAT)
            if time in series:
                raise UserError(f"duplicate time {written_time!r} {place}", "use each time once", code="already_exists")
            series[time] = value
    except csv.Error as error:
        raise UserError(f"invalid line {reader.line_num} ({error})", _FORMAT) from error
    if not series:
        raise UserError("the file has no rows", _FORMAT, code="file_unreadable")
    if len(series) > MAX_ROWS:
        raise UserError(f"the file has more than {MAX_ROWS:,} rows", "sum them up by day or month first", code="too_large")
    return heading, series


def _parse_number(text: str, decimal_point: str) -> float | None:
    try:
        return float(text.replace(decimal_point, "."))
    except ValueError:
        return None


def _parse_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(f"{text}-01" if re.fullmatch(r"\d{4}-\d{2}", text) else text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
