"""Recorded posting times from a file: a table with a header, one line per post, its author and its time."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

import numpy as np

from bowerbird.errors import UserError
from bowerbird.simulated.world import Recorded, WorldSettings
from bowerbird.simulated.world.settings import DAY, MOST_ACCOUNTS, from_ms, to_ms

_NEEDED = ("user_id", "time")


def read_posting_times(path: Path, accounts: int | None = None) -> Recorded:
    """The posts of a `.tsv` or `.csv` file, also gzipped, with the columns `user_id`, `time` (ISO 8601 with zone) and perhaps
    `is_rt`; of the first `accounts` authors only, where that is said."""
    numbers: dict[str, int] = {}
    posts: list[tuple[int, int, bool]] = []
    most = min(accounts or MOST_ACCOUNTS, MOST_ACCOUNTS)
    for user, ms, is_repost in _lines(path):
        number = numbers.setdefault(user, len(numbers)) if user in numbers or len(numbers) < most else None
        if number is not None:
            posts.append((ms, number, is_repost))
    if len(numbers) < 2:
        raise UserError(f"{path}: a world needs posts of at least two accounts")
    times, authors, reposts = (np.array(column) for column in zip(*sorted(posts), strict=True))
    return Recorded(authors, times, reposts, len(numbers))


def recorded_world(recorded: Recorded, seed: int, days: float) -> WorldSettings:
    """Settings under which the recording's first days are known as past, and the period after them lies within it."""
    first, last = recorded.span
    warm = WorldSettings().warm
    start = from_ms(-(-first // DAY) * DAY) + timedelta(days=warm)
    if start + timedelta(days=days) > from_ms(last):
        raise UserError(
            f"the recorded times span {(last - first) / DAY:.0f} days; {warm + 1 + days:g} are needed", "choose fewer --days"
        )
    return WorldSettings(seed=seed, accounts=recorded.accounts, start=start, likes_per_post=0.0)


def _lines(path: Path) -> Iterator[tuple[str, int, bool]]:
    with _opened(path) as file:
        delimiter = "\t" if ".tsv" in path.suffixes else ","
        rows = csv.DictReader(file, delimiter=delimiter)
        missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
        if missing:
            raise UserError(
                f"{path}: there is no column {missing[0]!r}", "the first line must name the columns", code="missing_value"
            )
        for line, row in enumerate(rows, start=2):
            yield row["user_id"], _ms(row["time"], path, line), row.get("is_rt") == "1"


def _ms(text: str, path: Path, line: int) -> int:
    try:
        when = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise UserError(f"{path}, line {line}: {text!r} is no time", "write it as 2021-01-31T12:00:00+00:00") from None
    return to_ms(when if when.tzinfo is not None else when.replace(tzinfo=UTC))


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
                yield text
        else:
            with path.open(encoding="utf-8", newline="") as text:
                yield text
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}", code="file_unreadable") from error
