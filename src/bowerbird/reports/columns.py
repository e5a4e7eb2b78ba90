"""Columns of reports: which value of a row is shown under which heading, for terminals, pages and files alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from bowerbird.model.times import span

Column = str | Callable[[Any], object]
"""The name of an attribute of a row, or a function of the row."""
Columns = Mapping[str, Column]
"""By heading."""


class Toned(str):
    """Text that pages show in colour: good (`ok`) or a problem (`bad`)."""

    tone: str

    def __new__(cls, text: str, tone: str) -> Toned:
        toned = super().__new__(cls, text)
        toned.tone = tone
        return toned


def cell(row: Any, column: Column) -> object:
    return getattr(row, column) if isinstance(column, str) else column(row)


def as_text(value: object) -> str:
    """Return a value as people read it: `12,345`, `2026-01-05 12:00:00`, `2 h 5 min`, `yes`; nothing for None."""
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case int():
            return f"{value:,}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case timedelta():
            return span(value)
        case _:
            return str(value)
