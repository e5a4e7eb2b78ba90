"""Files of lines as they were exported, record by record: what does not change keeps every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from bowerbird.errors import UserError
from bowerbird.export.rows.cells import SEPARATOR, cell, original
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.rows.shapes import Kind

_CELL = re.compile(r'("(?:[^"]|"")*"|[^,"]*)(,|$)')


class Lines(Protocol):
    """One format of lines."""

    def records(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Whole records with their ends, after the header; raises `ValueError` where the file is another."""
        ...

    def header(self) -> bytes: ...

    def values(self, record: bytes) -> Mapping[str, Any]: ...

    def changed(self, record: bytes, changed: Mapping[str, Any]) -> bytes: ...


class JsonLines:
    """Implements `Lines`: one object a line."""

    def header(self) -> bytes:
        return b""

    def records(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        return (line for line in lines if line.strip())

    def values(self, record: bytes) -> Mapping[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(record, type=dict[str, Any])
        return found

    def changed(self, record: bytes, changed: Mapping[str, Any]) -> bytes:
        # Not msgspec: numbers that another program wrote stay as they are.
        return json.dumps(json.loads(record) | changed, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class IdLines:
    """Implements `Lines`: one id a line."""

    def header(self) -> bytes:
        return b""

    def records(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        return (line for line in lines if line.strip())

    def values(self, record: bytes) -> Mapping[str, Any]:
        return {"id": record.decode().strip()}

    def changed(self, record: bytes, changed: Mapping[str, Any]) -> bytes:
        raise AssertionError(f"an id stays or goes, {record!r} was to become {changed}")


class CsvLines:
    """Implements `Lines`: texts in quotation marks, which may be of several lines."""

    def __init__(self, what: str, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._kinds = {column.name: column.kind for column in SHAPES[what].columns}

    def header(self) -> bytes:
        return (",".join(map(cell, self._columns)) + "\n").encode()

    def records(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        records = _whole(lines)
        first = next(records, b"")
        if [_text(each) for each in self._cells(first)] != self._columns:
            raise ValueError("its first line does not name the columns of the manifest")
        return records

    def values(self, record: bytes) -> Mapping[str, Any]:
        cells = self._cells(record)
        if len(cells) != len(self._columns):
            raise ValueError(f"a row has {len(cells)} cells, not {len(self._columns)}")
        return {name: self._value(name, each) for name, each in zip(self._columns, cells, strict=True)}

    def changed(self, record: bytes, changed: Mapping[str, Any]) -> bytes:
        pairs = zip(self._columns, self._cells(record), strict=True)
        return (",".join(cell(changed[name]) if name in changed else each for name, each in pairs) + "\n").encode()

    def _cells(self, record: bytes) -> list[str]:
        text = record.decode().removesuffix("\n").removesuffix("\r")
        found, at = [], 0
        while (match := _CELL.match(text, at)) is not None:
            found.append(match[1])
            at = match.end()
            if not match[2]:
                break
        if at < len(text):
            raise ValueError("a row is not as it was exported: quotation marks are missing")
        return found

    def _value(self, name: str, written: str) -> Any:
        if not written:
            return None
        text = _text(written)
        if self._kinds.get(name) is Kind.LIST:
            return text.split(SEPARATOR) if text else []
        return text


def _whole(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines put together until every quotation mark that opens is closed."""
    waiting: list[bytes] = []
    is_open = False
    for line in lines:
        waiting.append(line)
        is_open ^= line.count(b'"') % 2 == 1
        if not is_open:
            yield b"".join(waiting)
            waiting = []
    if waiting:
        raise ValueError("it ends in the middle of a text")


def _text(written: str) -> str:
    return original(written[1:-1].replace('""', '"')) if written.startswith('"') else written


def lines_of(format_: str, what: str, columns: Sequence[str]) -> Lines:
    """How a file of lines is read; raises `UserError` for formats that cannot be changed in place."""
    if format_ == "csv":
        return CsvLines(what, columns)
    if format_ not in ("jsonl", "ids"):
        raise UserError(f"files of the format {format_} cannot be gone through", "export them again", code="unsupported")
    return JsonLines() if format_ == "jsonl" else IdLines()
