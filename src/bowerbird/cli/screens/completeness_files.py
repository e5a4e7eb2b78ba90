"""The completeness ledger as a file: CSV with one column per cause, or JSON lines with everything."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.errors import UserError
from bowerbird.reports.completeness import Cause, Entry

# A cause may be called like a count (`deleted`): its column says that it is about what is missing.
_CAUSES = {cause: f"missing_{cause}" for cause in Cause}
_COLUMNS = (
    *("subject", "name", "crawl", "service", "facet", "items", "captured", "deleted", "claimed", "claimed_at"),
    *("missing_low", "missing", "missing_high", *_CAUSES.values(), "why", "certainty", "is_repeated"),
)


def flat(entry: Entry) -> dict[str, Any]:
    """One line as plain values."""
    values: dict[str, Any] = msgspec.to_builtins(entry)
    return values


class CompletenessFile:
    """A new file that takes entries one by one."""

    def __init__(self, path: Path) -> None:
        if path.suffix not in (".csv", ".jsonl"):
            raise UserError(f"cannot tell the format of {path}", "name it .csv or .jsonl", code="unknown_format")
        self._is_csv = path.suffix == ".csv"
        try:
            self._file = path.open("x", encoding="utf-8", newline="")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}", code="file_unwritable") from error
        self._csv = csv.DictWriter(self._file, _COLUMNS, extrasaction="ignore")
        if self._is_csv:
            self._csv.writeheader()

    def write(self, entry: Entry) -> None:
        if self._is_csv:
            self._csv.writerow({name: _safe(value) for name, value in _columns(entry).items()})
        else:
            self._file.write(msgspec.json.encode(entry).decode() + "\n")

    def close(self) -> None:
        self._file.close()


def _columns(entry: Entry) -> dict[str, Any]:
    why = "; ".join(dict.fromkeys(f"{part.cause}: {part.why}" for part in entry.missing))
    ranges = {"missing_low": entry.low, "missing": entry.likely, "missing_high": entry.high}
    return flat(entry) | ranges | {name: entry.of(cause) for cause, name in _CAUSES.items()} | {"why": why}


def _safe(value: Any) -> Any:
    """What a server sent must not become a formula in a spreadsheet."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
