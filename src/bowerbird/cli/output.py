"""What commands print: tables for people, or one JSON object as the last line for machines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line, for machines.")]


def printable(text: object) -> str:
    """The text without control characters: what a server sent cannot steer the terminal."""
    return "".join(mark if mark.isprintable() or mark == "\n" else "�" for mark in str(text))


class Output:
    """Standard output is for people; with `--json` it carries the result alone and the rest goes to standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """The Rich console for people, for commands with live progress."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(stderr=self.as_json, highlight=False, markup=False, emoji=False, soft_wrap=True)
        return self._console

    def line(self, text: str = "", *, style: str | None = None) -> None:
        self.console.print(printable(text), style=style)

    def show(self, renderable: RenderableType) -> None:
        self.console.print(renderable)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        from rich.table import Table
        from rich.text import Text

        if title:
            self.line(title)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text("" if cell is None else printable(cell)) for cell in row))
        self.console.print(table, soft_wrap=False)

    def result(self, values: dict[str, Any]) -> None:
        """The machine's answer; printed only with `--json`, last, on one line."""
        if self.as_json:
            import json

            sys.stdout.write(json.dumps(values, default=_plain, ensure_ascii=True, allow_nan=False) + "\n")
            sys.stdout.flush()


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
