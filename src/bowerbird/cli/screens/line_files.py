"""Lines of plain values as a file: CSV, JSON lines, or only their ids as text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.errors import UserError

_ENDINGS = (".csv", ".jsonl", ".txt")


class LineFile:
    """A new file that takes lines one by one; its ending says how they are written."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        if path.suffix not in _ENDINGS:
            raise UserError(f"cannot tell the format of {path}", "name it .csv, .jsonl or .txt", code="unknown_format")
        self._ending = path.suffix
        self._first = columns[0]
        try:
            self._file = path.open("x", encoding="utf-8", newline="")
        except FileExistsError:
            raise UserError(
                f"{path} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
            ) from None
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}", code="file_unwritable") from error
        self._csv = csv.DictWriter(self._file, columns, extrasaction="ignore")
        if self._ending == ".csv":
            self._csv.writeheader()

    def write(self, values: Mapping[str, Any]) -> None:
        if self._ending == ".csv":
            self._csv.writerow({name: _safe(value) for name, value in values.items()})
        elif self._ending == ".jsonl":
            self._file.write(msgspec.json.encode(values).decode() + "\n")
        else:
            self._file.write(_one_line(str(values[self._first])) + "\n")

    def write_all(self, lines: Iterable[Mapping[str, Any]]) -> None:
        for each in lines:
            self.write(each)

    def close(self) -> None:
        self._file.close()


def _one_line(text: str) -> str:
    """The text itself, unless it would be more than one line or steer a terminal: then with escapes for what does."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _safe(value: Any) -> Any:
    """What a server sent must not become a formula in a spreadsheet."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
