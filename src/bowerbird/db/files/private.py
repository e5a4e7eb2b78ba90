"""Files that only their owner may read: databases, vaults, keys."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def is_private(path: Path) -> bool:
    """Return whether only the owner can read or write the file. Windows has no such permission bits."""
    return os.name != "posix" or path.stat().st_mode & _OTHERS == 0


def write_private(path: Path, content: bytes) -> None:
    """Replace a file with permissions 0600. After a crash it has the old content or the new, never a part."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates the file with 0600: the content is private from its first byte.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    # Windows cannot open a folder.
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time change the file; wait for the others."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A separate file: every write replaces the file itself, and a lock on the old one would protect nothing.
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
