"""The stores of a folder, found without changing any file there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bowerbird.db.sqlite import sqlite_module

_MOST = 100
_TABLES = "select count(*) from sqlite_master where type = 'table' and name in ('crawls', 'migrations')"


def stores_in(folder: Path) -> Iterator[Path]:
    """The SQLite files that are stores of bowerbird, the newest first; databases of others are opened for reading only."""
    files = [path for path in folder.glob("*.db") if path.is_file()]
    for path in sorted(files, key=lambda each: -each.stat().st_mtime)[:_MOST]:
        if _is_store(path):
            yield path


def _is_store(path: Path) -> bool:
    module = sqlite_module()
    try:
        connection = module.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)
    except module.Error:
        return False
    try:
        found: tuple[int] = connection.execute(_TABLES).fetchone()
        return found == (2,)
    except module.Error:
        return False
    finally:
        connection.close()
