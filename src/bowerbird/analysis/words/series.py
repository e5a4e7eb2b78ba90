"""A series of the user's own, such as the audience of a programme: two columns of a CSV file, a time and a number. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO

from bowerbird.errors import UserError

LARGEST = 1_000_000
"""Bytes."""
MOST_ROWS = 20_000
_MONTH = re.compile(r"\d{4}-\d{2}")
_HOW = "a series is a CSV file with two columns, a time and a number, such as `2026-03-01,12.5`"


def head_of(body: bytes) -> str:
    """What the file calls its numbers: the head of the second column; empty where it has none, or cannot be read."""
    text = body[:LARGEST].decode("utf-8-sig", errors="replace")
    row = next((row for row in csv.reader(StringIO(text.partition("\n")[0]), delimiter=_separator(text)) if row), [])
    return row[1].strip() if len(row) > 1 and _time(row[0]) is None else ""


def read_series(body: bytes) -> dict[datetime, float]:
    """The numbers by time (UTC where no zone is written); raises `UserError` that names the line for what cannot be read."""
    if len(body) > LARGEST:
        raise UserError(f"the file has {len(body):,} bytes; a series may have {LARGEST:,}")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"the file is not text in UTF-8; {_HOW}") from error
    if "\0" in text:
        raise UserError(f"the file is not text; {_HOW}")
    return _rows(text)


def _rows(text: str) -> dict[datetime, float]:
    separator = _separator(text)
    found: dict[datetime, float] = {}
    is_first = True
    for number, row in enumerate(_cells(text, separator), 1):
        if not any(cell.strip() for cell in row):
            continue
        if len(found) >= MOST_ROWS:
            raise UserError(f"the file has more than {MOST_ROWS:,} rows; sum them up by day or month first")
        if is_first and (len(row) < 2 or _time(row[0]) is None):
            # The names of the columns.
            is_first = False
            continue
        is_first = False
        when, value = _row(row, number, separator)
        if when in found:
            raise UserError(f"line {number}: there is a number for {row[0].strip()} already; each time may stand there once")
        found[when] = value
    if not found:
        raise UserError(f"the file has no rows; {_HOW}")
    return found


def _cells(text: str, separator: str) -> Iterator[list[str]]:
    reader = csv.reader(StringIO(text), delimiter=separator)
    try:
        yield from reader
    except csv.Error as error:
        raise UserError(f"line {reader.line_num} cannot be read ({error}); {_HOW}") from error


def _separator(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    # A comma may be the point of a number where another sign stands between the columns.
    return next((each for each in (";", "\t") if each in first), ",")


def _row(row: list[str], line: int, separator: str) -> tuple[datetime, float]:
    if len(row) < 2:
        raise UserError(f"line {line} has one column; {_HOW}")
    when = _time(row[0])
    if when is None:
        raise UserError(f"line {line}: {row[0].strip()[:40]!r} is no time; write 2026-03-01, 2026-03-01 18:00 or 2026-03")
    written = row[1].strip().replace(",", ".") if separator != "," else row[1].strip()
    try:
        value = float(written)
    except ValueError as error:
        raise UserError(f"line {line}: {row[1].strip()[:40]!r} is no number") from error
    if not abs(value) < 1e15:
        raise UserError(f"line {line}: {row[1].strip()[:40]!r} is no number that can be compared")
    return when, value


def _time(written: str) -> datetime | None:
    text = written.strip()
    if not re.match(r"\d{4}-", text):
        return None
    try:
        when = datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
    except ValueError:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
