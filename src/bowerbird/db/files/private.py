"""Files that only their owner may read: what people wrote is in them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_OWNER_ONLY = 0o600
_OTHERS = 0o077
SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database; it gives them the permissions of the database itself."""
_log = logging.getLogger(__name__)


def create_private(path: Path) -> None:
    """Makes an empty file that is private from its first byte on, whatever the umask; one that is there is left alone."""
    # Never opened when it exists: closing it would release the locks that SQLite holds on it in this process.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))


def make_private(path: Path) -> None:
    """Takes the permissions of everybody else from a database and what lies beside it, and says so; those that are another
    user's, or on a disk that cannot be written, stay as they are."""
    for each in _open_to_others(path):
        with suppress(OSError):
            each.chmod(_OWNER_ONLY)
            _log.warning("%s could be opened by other users of this machine; now only by its owner (0600)", each)


def _open_to_others(path: Path) -> Iterator[Path]:
    if os.name != "posix":
        return
    for each in (path, *(path.with_name(path.name + ending) for ending in SIDE_FILES)):
        with suppress(OSError):
            if each.stat().st_mode & _OTHERS:
                yield each
