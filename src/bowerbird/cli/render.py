"""What commands print: text and tables for people, or one JSON object for programs; and files of rows (`--out`)."""

from __future__ import annotations

import csv
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import typer
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.reports.columns import Columns, as_text, cell

GAP = 2


class Heading(str):
    """A line in bold."""


class Table(Struct):
    rows: Iterable[Any]
    columns: Columns


def render(values: Any, screen: Iterable[str | Table], *, as_json: bool) -> None:
    """Print the screen, or with `--json` the values as one line. The screen is not computed then."""
    if as_json:
        import json  # not needed for text, and slow to load

        sys.stdout.write(json.dumps(values, default=_plain, allow_nan=False) + "\n")
        sys.stdout.flush()
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for part in screen:
        if isinstance(part, Table):
            cells = [[printable(as_text(cell(row, column))) for column in part.columns.values()] for row in part.rows]
            for line in layout([list(part.columns), *cells], width):
                typer.echo(line)
        else:
            typer.secho(printable(part), bold=isinstance(part, Heading))


def layout(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """Yield rows as aligned lines. On a terminal of this width the last column wraps between words."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    indent = sum(widths[:-1]) + GAP * (len(widths) - 1)
    for row in rows:
        *front, last = (text.replace("\n", " ") for text in row)
        start = "".join(text + " " * (most - _width(text) + GAP) for text, most in zip(front, widths, strict=False))
        lines = textwrap.wrap(last, max(20, width - indent), break_long_words=False) if width else [last]
        yield (start + (lines or [""])[0]).rstrip()
        yield from (" " * indent + line for line in lines[1:])


def printable(text: object) -> str:
    """Replace control characters, so that text from a server cannot control the terminal."""
    return "".join(mark if mark.isprintable() or mark == "\n" else "�" for mark in str(text))


@contextmanager
def row_file(path: Path | None, columns: Columns) -> Iterator[Callable[[Any], None]]:
    """Open a new .csv, .jsonl or .txt (first column) file and yield a function that writes one row (without a path: none)."""
    if path is None:
        yield lambda row: None
        return
    if path.suffix not in (".csv", ".jsonl", ".txt"):
        raise UserError(f"Unknown file format: {path}.", "Use .csv, .jsonl or .txt.", code="unknown_format")
    try:
        file = path.open("x", encoding="utf-8", newline="")
    except FileExistsError:
        raise UserError(f"{path} already exists.", "Choose another name.", code="already_exists") from None
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}.", code="file_unwritable") from error
    with file:
        if path.suffix == ".jsonl":
            yield lambda row: print(msgspec.json.encode(row).decode(), file=file)
            return
        if path.suffix == ".txt":
            first = next(iter(columns.values()))
            yield lambda row: print(printable(cell(row, first)), file=file)
            return
        writer = csv.writer(file)
        writer.writerow(columns)
        yield lambda row: writer.writerow([_csv_safe(msgspec.to_builtins(cell(row, column))) for column in columns.values()])


def _csv_safe(value: object) -> object:
    """Prevent that text from a server becomes a formula in a spreadsheet."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _plain(value: object) -> object:
    match value:
        case Struct():
            return msgspec.to_builtins(value)
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Path():
            return str(value)
        case set() | frozenset():
            return sorted(value)
    raise TypeError(f"Cannot write {type(value).__name__} as JSON.")
