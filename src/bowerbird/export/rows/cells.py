"""Values as cells: times in UTC, lists in one text, and texts that no spreadsheet takes for a formula. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

SEPARATOR = "|"
"""Between the parts of a list in one cell; in a part it is written `%7C`."""

UNSAFE = "^[\\x00-\\x20\u00a0]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|^'"
"""Texts that a spreadsheet may take for a formula, by signs of full width too, and those that look as if they had been made safe
already."""
_UNSAFE = re.compile(UNSAFE)


def told_time(when: datetime) -> str:
    """`2026-01-05T12:00:00.000000Z`: all times are as long, so that their order is that of their texts."""
    inside = when if when.tzinfo is UTC else when.astimezone(UTC)
    return f"{inside.isoformat(timespec='microseconds')[:26]}Z"


def safe(text: str) -> str:
    """The text, or with an apostrophe in front where a spreadsheet might take it for a formula; `original` undoes it."""
    return f"'{text}" if _UNSAFE.match(text) else text


def original(cell: str) -> str:
    """The text that `safe` made this cell of."""
    return cell.removeprefix("'")


def joined(parts: tuple[str, ...] | list[str]) -> str:
    return SEPARATOR.join(part.replace(SEPARATOR, "%7C") for part in parts)


def cell(value: Any) -> str:
    """One value as CSV has it: nothing for None, texts safe and in quotes."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return quoted(safe(_text(value)))


def quoted(text: str) -> str:
    inside = text.replace('"', '""')
    return f'"{inside}"'


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return told_time(value)
    return joined(value) if isinstance(value, tuple | list) else str(value)
