"""Texts as they come from a database by columns."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """A value as it is asked with and written down: SQLite gives texts of columns as bytes."""
    return value.decode() if isinstance(value, bytes) else value
