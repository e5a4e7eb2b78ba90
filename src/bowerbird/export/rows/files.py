"""Rows into plain files: JSON lines, CSV, or ids alone; to a path or to standard output, from the start or where a file ends.

Every batch is written at once and handed to the system, so that a file ends with a whole row. Where a machine died in the middle
of one, the torn rest is cut off before anything is added.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from io import RawIOBase
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

import msgspec

from bowerbird.errors import DiskFull, UserError
from bowerbird.export.rows.cells import cell, told_time
from bowerbird.export.rows.endings import WHOLE, whole_rows
from bowerbird.export.rows.shapes import Kind, Row, Shape

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "ids"}
"""By the ending of a file's name; `ids`: the first column alone, one a line."""


class Encoded(Protocol):
    """Rows as bytes."""

    def header(self) -> bytes: ...

    def rows(self, rows: Iterable[Row]) -> bytes: ...


class RowFile:
    """Takes rows in batches, each written as a whole. Close it, or use it in a `with`."""

    def __init__(self, encoded: Encoded, file: RawIOBase | BinaryIO, shown: str, *, is_new: bool, is_ours: bool) -> None:
        self._encoded = encoded
        self._file = file
        self._shown = shown
        self._is_ours = is_ours
        self.rows = 0
        """Written by now."""
        if is_new:
            self._begin()

    def _begin(self) -> None:
        try:
            self._put(self._encoded.header())
        except BaseException:
            self._file.close()
            raise

    def write(self, rows: Iterable[Row]) -> None:
        """Raises `DiskFull` where there is no room; `BrokenPipeError` where nobody reads any more."""
        batch = list(rows)
        self._put(self._encoded.rows(batch))
        self.rows += len(batch)

    def close(self) -> None:
        """Rows are on the disk then, not only with the system."""
        if not self._is_ours or self._file.closed:
            return
        try:
            if Path(self._shown).is_file():
                os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise unwritten(self._shown, error) from error

    def _put(self, content: bytes) -> None:
        left = memoryview(content)
        try:
            while left:
                left = left[self._file.write(left) or 0 :]
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritten(self._shown, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_rows(path: Path | None, shape: Shape, *, format: str | None = None, append: bool = False) -> RowFile:  # noqa: A002
    """A new file, or one to go on with; None (and `-`) is standard output. The ending of the name tells the format if unsaid.

    Raises `UserError` where a file exists and nothing says that it is to be added to, or where it has other columns.
    """
    encoded = encoding(format_of(path, format), shape)
    if path is None or str(path) == "-":
        return RowFile(encoded, sys.stdout.buffer, "standard output", is_new=True, is_ours=False)
    end = _end_of_rows(path, encoded.header()) if append and path.is_file() else None
    file = _opened(path, end)
    return RowFile(encoded, file, str(path), is_new=not end, is_ours=True)


def _opened(path: Path, end: int | None) -> RawIOBase:
    """The file, to be written from `end` on; None: from its start, and it must be new, or a pipe."""
    try:
        if end is None:
            return path.open("wb" if path.exists() and not path.is_file() else "xb", buffering=0)
        file = path.open("r+b", buffering=0)
        file.seek(end)
        file.truncate()
        return file
    except FileExistsError:
        raise UserError(
            f"{path} exists already",
            "add to it with --append, choose another name, or move it away: nothing is overwritten",
            code="already_exists",
        ) from None
    except OSError as error:
        raise unwritten(str(path), error) from error


def _end_of_rows(path: Path, header: bytes) -> int:
    """Where the last whole row of a file ends; raises `UserError` where its rows are others."""
    with path.open("rb") as file:
        end, first = whole_rows(file, is_quoted=bool(header))
    if end and header and first != header:
        raise UserError(
            f"{path} has other columns than these rows, which cannot be added to it", "choose another file", code="unsupported"
        )
    return end


def encoding(format: str, shape: Shape) -> Encoded:  # noqa: A002
    """How rows of this shape are written in a format."""
    return _ENCODED[format](shape)


def format_of(path: Path | None, told: str | None = None) -> str:
    """`jsonl`, `csv` or `ids`; standard output has JSON lines where nothing is told."""
    known = sorted(set(FORMATS.values()))
    if told is not None:
        if told not in known:
            raise UserError(
                f"there is no format {told!r} here", f"there are: {', '.join(sorted((*known, *WHOLE)))}", code="unknown_format"
            )
        return told
    if path is None or str(path) == "-":
        return "jsonl"
    if path.suffix.lower() not in FORMATS:
        endings = ", ".join((*FORMATS, *(f".{each}" for each in WHOLE)))
        raise UserError(f"cannot tell the format of {path}", f"name it {endings}, or say --format", code="unknown_format")
    return FORMATS[path.suffix.lower()]


def unwritten(shown: str, error: OSError) -> DiskFull | UserError:
    """What an error of the file system means for those who export."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"cannot write {shown}: {error.strerror}.", "Free some space; the same command goes on where it stopped")
    return UserError(f"cannot write {shown}: {error.strerror}", "choose another place", code="file_unwritable")


class _Csv:
    """Comma, LF, UTF-8, every text in double quotes: nothing between two commas is unknown, `""` is an empty text."""

    def __init__(self, shape: Shape) -> None:
        self._names = shape.names

    def header(self) -> bytes:
        return self.rows([self._names])

    def rows(self, rows: Iterable[Row]) -> bytes:
        lines = [",".join(map(cell, row)) for row in rows]
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


class _Jsonl:
    """One object a line, in the order of the columns; what is not known is null, documents are objects."""

    def __init__(self, shape: Shape) -> None:
        self._object = _object_of(shape.names)
        self._documents = [place for place, column in enumerate(shape.columns) if column.kind is Kind.DOCUMENT]
        self._times = [place for place, column in enumerate(shape.columns) if column.kind is Kind.TIME]
        self._encode = msgspec.json.Encoder(enc_hook=str).encode_lines

    def header(self) -> bytes:
        return b""

    def rows(self, rows: Iterable[Row]) -> bytes:
        batch = list(rows)
        try:
            return self._encode(self._told(batch))
        except UnicodeEncodeError:
            # Half a character, which a text may hold and no file may.
            return self._encode(self._told([tuple(map(_plain, row)) for row in batch]))

    def _told(self, rows: list[Row]) -> list[Any]:
        """The rows as objects. By columns: most are empty or as they are written, and times repeat within a page."""
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for place in self._times if columns else ():
            columns[place] = _times_told(columns[place])
        for place in self._documents if columns else ():
            columns[place] = [None if value is None else msgspec.Raw(value.encode()) for value in columns[place]]
        return [self._object(*row) for row in zip(*columns, strict=True)]


def _object_of(names: Sequence[str]) -> Callable[..., Any]:
    """What is encoded as an object with these names: a struct of its own is made ten times as quickly as a dict."""
    fields = {f"column_{place}": name for place, name in enumerate(names)}
    try:
        return msgspec.defstruct("RowObject", [(field, Any) for field in fields], rename=fields, gc=False)
    except ValueError:
        # Columns of a user's file may be called anything, also with quotes.
        return lambda *row: dict(zip(names, row, strict=True))


def _times_told(values: Sequence[Any]) -> Sequence[Any]:
    told = {value: told_time(value) if isinstance(value, datetime) else value for value in set(values)}
    return [told[value] for value in values]


class _Ids:
    """The first column alone."""

    def __init__(self, shape: Shape) -> None:
        del shape

    def header(self) -> bytes:
        return b""

    def rows(self, rows: Iterable[Row]) -> bytes:
        return b"".join(f"{_one_line(str(row[0]))}\n".encode() for row in rows)


def _one_line(text: str) -> str:
    """The text itself, unless it would be more than one line or steer a terminal: then with escapes for what does."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _plain(value: Any) -> Any:
    """Texts without what cannot be written as UTF-8, also in lists."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return tuple(map(_plain, value)) if isinstance(value, tuple | list) else value


_ENCODED: dict[str, Callable[[Shape], Encoded]] = {"csv": _Csv, "jsonl": _Jsonl, "ids": _Ids}
