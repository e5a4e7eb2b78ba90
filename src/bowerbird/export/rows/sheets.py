"""Rows into a workbook."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from bowerbird.export.needed import needed
from bowerbird.export.rows.cells import joined, told_time
from bowerbird.export.rows.shapes import Row, Shape

MOST_ROWS = 1_048_575
"""Of one sheet, besides its header."""
_LONGEST = 32_767


class Sheet:
    """A workbook with one sheet, written to a file row by row. Every text is a text, never a formula or a link; a cell holds
    32,767 letters, no more."""

    def __init__(self, file: Any, shape: Shape) -> None:
        self._book = needed("xlsxwriter", "XLSX").Workbook(file, {"constant_memory": True, "strings_to_urls": False})
        self._sheet = self._book.add_worksheet(shape.name)
        self._sheet.freeze_panes(1, 0)
        self._next = 0
        self.write([shape.names])

    def write(self, rows: Iterable[Row]) -> None:
        for row in rows:
            for place, value in enumerate(row):
                self._put(place, value)
            self._next += 1

    def close(self) -> None:
        """Everything is in the file then."""
        self._book.close()

    def _put(self, place: int, value: Any) -> None:
        if isinstance(value, bool):
            self._sheet.write_boolean(self._next, place, value)
        elif isinstance(value, int | float):
            self._sheet.write_number(self._next, place, value)
        elif value is not None:
            self._sheet.write_string(self._next, place, _told(value)[:_LONGEST])


def _told(value: Any) -> str:
    if isinstance(value, datetime):
        return told_time(value)
    return joined(value) if isinstance(value, tuple | list) else str(value)
