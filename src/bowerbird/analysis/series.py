"""Read a series of numbers over time from a CSV file, and correlate two series at several lags."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from math import atanh, sqrt, tanh

from msgspec import Struct

from bowerbird.errors import UserError

MAX_BYTES = 1_000_000
MAX_ROWS = 20_000
_MONTH = re.compile(r"\d{4}-\d{2}")
_FORMAT = "use a CSV file with two columns, a time and a number, such as `2026-03-01,12.5`"
_Z = 1.959964
"""For 95 % intervals."""
_MIN_PAIRS = 4
"""With fewer pairs an interval has no meaning."""
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
        steps = [step for step in sorted(first) if step + lag in second]
        ones, others = [first[step] for step in steps], [second[step + lag] for step in steps]
        lagged = Lagged(lag=lag, pairs=len(steps), pearson=pearson(ones, others), spearman=spearman(ones, others))
        correlations.append(lagged)
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


def pearson(ones: Sequence[float], others: Sequence[float]) -> Coefficient | None:
    """Return Pearson's coefficient, or None for fewer than four pairs or a constant series."""
    value = _product_moment(ones, others)
    return None if value is None else _with_interval(value, len(ones), 1.0)


def spearman(ones: Sequence[float], others: Sequence[float]) -> Coefficient | None:
    """Return Spearman's coefficient, or None for fewer than four pairs or a constant series."""
    value = _product_moment(ranks(ones), ranks(others))
    # Ranks vary a little more than numbers (Bonett and Wright).
    return None if value is None else _with_interval(value, len(ones), sqrt(1 + value * value / 2))


def ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    ranked = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end + 1 < len(order) and values[order[end + 1]] == values[order[begin]]:
            end += 1
        for place in order[begin : end + 1]:
            ranked[place] = (begin + end) / 2 + 1
        begin = end + 1
    return ranked


def two_places(value: float) -> str:
    """Return the number with two decimal places, and without a sign if they are zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def _product_moment(ones: Sequence[float], others: Sequence[float]) -> float | None:
    n = len(ones)
    # Rounding of the mean would hide that a series is constant.
    if n < _MIN_PAIRS or min(ones) == max(ones) or min(others) == max(others):
        return None
    mean, other_mean = sum(ones) / n, sum(others) / n
    above, other_above = [one - mean for one in ones], [other - other_mean for other in others]
    spread = sqrt(sum(each * each for each in above)) * sqrt(sum(each * each for each in other_above))
    if spread == 0:
        return None
    return max(-1.0, min(1.0, sum(one * other for one, other in zip(above, other_above, strict=True)) / spread))


def _with_interval(value: float, n: int, widening: float) -> Coefficient:
    if abs(value) >= 1 - 1e-12:
        return Coefficient(round(value, 4), round(value, 4), round(value, 4))
    half_width = _Z * widening / sqrt(n - 3)
    middle = atanh(value)
    return Coefficient(round(value, 4), round(tanh(middle - half_width), 4), round(tanh(middle + half_width), 4))


def column_name(body: bytes) -> str:
    """Return the heading of the second column; empty if the file has none or cannot be read."""
    text = body[:MAX_BYTES].decode("utf-8-sig", errors="replace")
    separator = _separator(text)
    try:
        row = next(csv.reader(StringIO(text.partition("\n")[0]), delimiter=separator), [])
    except csv.Error:
        return ""
    return row[1].strip() if len(row) > 1 and _is_heading(row, separator) else ""


def read_series(body: bytes) -> dict[datetime, float]:
    """Return the numbers by time, in UTC unless a time has a zone; raise `UserError` with the line that is invalid."""
    if len(body) > MAX_BYTES:
        raise UserError(f"the file has {len(body):,} bytes; the maximum is {MAX_BYTES:,}")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"the file is not text in UTF-8; {_FORMAT}") from error
    if "\0" in text:
        raise UserError(f"the file is not text; {_FORMAT}")
    separator = _separator(text)
    reader = csv.reader(StringIO(text), delimiter=separator)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise UserError(f"invalid line {reader.line_num} ({error}); {_FORMAT}") from error
    if rows and _is_heading(rows[0][1], separator):
        del rows[0]
    if len(rows) > MAX_ROWS:
        raise UserError(f"the file has more than {MAX_ROWS:,} rows; sum them up by day or month first")
    series: dict[datetime, float] = {}
    for number, row in rows:
        time, value = _parse_row(row, number, separator)
        if time in series:
            raise UserError(f"duplicate time {row[0].strip()!r} in line {number}; use each time once")
        series[time] = value
    if not series:
        raise UserError(f"the file has no rows; {_FORMAT}")
    return series


def _separator(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    # With another separator, a comma is the decimal point.
    return next((each for each in (";", "\t") if each in first), ",")


def _is_heading(row: list[str], separator: str) -> bool:
    """Return True if neither a time nor a number can be read from the row."""
    if len(row) < 2:
        return True
    return _parse_time(row[0]) is None and _parse_number(row[1], separator) is None


def _parse_number(written: str, separator: str) -> float | None:
    try:
        return float(written if separator == "," else written.replace(",", "."))
    except ValueError:
        return None


def _parse_row(row: list[str], line: int, separator: str) -> tuple[datetime, float]:
    if len(row) < 2:
        raise UserError(f"line {line} has one column; {_FORMAT}")
    time = _parse_time(row[0])
    if time is None:
        raise UserError(f"invalid time {row[0].strip()[:40]!r} in line {line}; use 2026-03-01, 2026-03-01 18:00 or 2026-03")
    written = row[1].strip()
    value = _parse_number(written, separator)
    if value is None:
        raise UserError(f"invalid number {written[:40]!r} in line {line}")
    if not abs(value) < 1e15:
        raise UserError(f"invalid number {written[:40]!r} in line {line}: it cannot be compared")
    return time, value


def _parse_time(written: str) -> datetime | None:
    text = written.strip()
    if not re.match(r"\d{4}-", text):
        return None
    try:
        time = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
