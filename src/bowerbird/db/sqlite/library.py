"""Which SQLite is used, and whether it can be trusted with a file."""

from __future__ import annotations

import os
import sqlite3 as standard
from pathlib import Path
from typing import Any

from bowerbird.errors import StoreError

SAFE_VERSION = (3, 51, 3)
"""Earlier ones can corrupt a WAL when it is reset while another connection reads (fixed upstream in 3.51.3)."""


def sqlite_module() -> Any:
    """The standard library's SQLite where it is safe, otherwise the one that pysqlite3 carries."""
    if standard.sqlite_version_info >= SAFE_VERSION:
        return standard
    try:
        import pysqlite3
    except ImportError:
        return standard
    return pysqlite3


def bind_quickly(module: Any) -> None:
    """Spares the driver its search for somebody who would adapt a null or a blob: that takes ten times as long as to bind it."""
    module.register_adapter(type(None), {None: None}.get)
    module.register_adapter(bytes, bytes)


def what_to_check(where: str) -> str:
    """What to do about a file that cannot be opened."""
    if Path(where).is_file() and not os.access(Path(where).parent, os.W_OK):
        return "Nothing can be written to its folder, and SQLite needs that even to read: copy the file to another folder."
    return "Check the path, its permissions and the disk."


def check_place(where: str, module: Any) -> None:
    path = Path(where)
    if where.startswith("file:"):
        raise StoreError(
            f"SQLite takes {where} for an address",
            "give the database a name that does not begin with file:",
            code="invalid_address",
        )
    if module.sqlite_version_info < SAFE_VERSION:
        wanted = ".".join(map(str, SAFE_VERSION))
        raise StoreError(
            f"SQLite {module.sqlite_version} can corrupt a database that is read while it is written",
            f"bowerbird needs {wanted} or newer. Install it with: pip install pysqlite3",
            code="package_missing",
        )
    if not path.parent.is_dir():
        raise StoreError(
            f"the folder {path.parent} for the database {path.name} does not exist", "create it first", code="file_not_found"
        )
