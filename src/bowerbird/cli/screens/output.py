"""What commands print: tables for people, or one JSON object as the last line for machines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bowerbird.cli.screens.outlet import Outlet

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_GAP = 2
"""Characters between columns."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line, for machines.")]


def printable(text: object) -> str:
    """The text without control characters: what a server sent cannot steer the terminal."""
    return "".join(mark if mark.isprintable() or mark == "\n" else "�" for mark in str(text))


def json_line(values: dict[str, Any]) -> str:
    """One line for machines, with letters as they are."""
    import json

    return json.dumps(values, default=_plain, ensure_ascii=False)


class Output:
    """Standard output is for people; with `--json` it carries the result alone, and standard error one JSON object per line:
    what is said while a command is at work. Screens are not shown then.

    Rich takes longer to load than most commands take to run: what needs no colour, or goes to no screen, is written without it.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._console: Console | None = None
        self._told = Outlet(sys.stderr)

    @property
    def console(self) -> Console:
        """The Rich console for people, for commands with live progress."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(quiet=self.as_json, highlight=False, markup=False, emoji=False, soft_wrap=True)
        return self._console

    def line(self, text: str = "", *, style: str | None = None) -> None:
        if self.as_json:
            return
        if self._console is None and (style is None or not sys.stdout.isatty()):
            print(printable(text), flush=True)
        else:
            self.console.print(printable(text), style=style)

    def progress(self, text: str) -> None:
        """What a command is doing, for those who wait for its result."""
        if self.as_json:
            self._told.write(json_line({"message": printable(text)}) + "\n")
        else:
            self.line(text)

    def show(self, renderable: RenderableType) -> None:
        if not self.as_json:
            self.console.print(renderable)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Lines wrap between words, but only on a screen: an address, a handle or a bucket stays whole, if need be beyond its
        edge, and a row that goes to a file or another program is one line."""
        if self.as_json:
            return
        if title:
            self.line(title)
        cells = [["" if cell is None else printable(cell) for cell in row] for row in rows]
        if self._console is None and not sys.stdout.isatty():
            for line in aligned([columns, *cells]):
                print(line)
        else:
            self._show_table(columns, cells)

    def _show_table(self, columns: Sequence[str], cells: list[list[str]]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        widths = column_widths([columns, *cells], self.console.width if self.console.is_terminal else sys.maxsize)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column, width in zip(columns, widths, strict=True):
            table.add_column(column, width=width, overflow="fold")
        for row in cells:
            table.add_row(*map(Text, row))
        whole = max(self.console.width, sum(widths) + _GAP * len(widths))
        wide = Console(file=self.console.file, width=whole, highlight=False, markup=False, emoji=False)
        wide.print(table)

    def result(self, values: dict[str, Any]) -> None:
        """The machine's answer; printed only with `--json`, last, on one line."""
        if self.as_json:
            import json

            sys.stdout.write(json.dumps(values, default=_plain, ensure_ascii=True, allow_nan=False) + "\n")
            sys.stdout.flush()


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each row as one line, its cells below each other."""
    whole = [[cell.replace("\n", " ") for cell in row] for row in rows]
    widths = column_widths(whole, sys.maxsize)
    for row in whole:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        yield (" " * _GAP).join(padded).rstrip()


def column_widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """How wide columns are: as their longest cell, or narrower where lines can wrap between words and there is no room."""
    columns = list(zip(*rows, strict=True))
    widths = [max(_width(cell) for cell in column) for column in columns]
    least = [max(_unbroken(cell) for cell in column) for column in columns]
    while sum(widths) + _GAP * (len(widths) - 1) > room:
        able = [number for number, width in enumerate(widths) if width > least[number]]
        if not able:
            break
        widths[max(able, key=lambda number: widths[number])] -= 1
    return widths


def _unbroken(cell: str) -> int:
    """The longest part of a cell that must not be broken: its longest word, or all of it if it is short."""
    indent = len(cell) - len(cell.lstrip())
    return indent + max((_width(word) for word in cell.split()), default=0)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
