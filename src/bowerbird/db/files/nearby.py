"""The stores of a folder, found without changing any file there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bowerbird.db.sqlite.library import sqlite_module

_MOST = 100
_CRAWLS = "select name, settings from crawls order by crawl"
_TABLES = "select count(*) from sqlite_master where type = 'table' and name in ('crawls', 'schema_version')"


def stores_in(folder: Path) -> Iterator[Path]:
    """The SQLite files that are stores of bowerbird, the newest first; databases of others are opened for reading only."""
    files = [path for path in folder.glob("*.db") if path.is_file()]
    for path in sorted(files, key=lambda each: -each.stat().st_mtime)[:_MOST]:
        if _is_store(path):
            yield path


def crawls_in(store: Path) -> list[tuple[str, str]]:
    """The crawls of such a file, by name, each with its settings as they were written."""
    return [(str(name), str(settings or "{}")) for name, settings in _read(store, _CRAWLS)]


def _is_store(path: Path) -> bool:
    return _read(path, _TABLES) == [(2,)]


def _read(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Nothing where the file cannot be read."""
    module = sqlite_module()
    try:
        connection = module.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)
    except module.Error:
        return []
    try:
        found: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return found
    except module.Error:
        return []
    finally:
        connection.close()
