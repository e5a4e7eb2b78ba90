"""Files only their owner may read, written whole or not at all, by one writer at a time."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Puts `content` at `path` with permissions 0600; after a crash the old content or the new is there, never a part."""
    _make_folder(path.parent)
    # mkstemp creates with 0600, so the content is private from its first byte on.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    _sync_folder(path.parent)


def is_private(path: Path) -> bool:
    """Nobody but the owner can read or write it; other systems than POSIX have no such bits."""
    return os.name != "posix" or path.stat().st_mode & 0o077 == 0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time between here and the end, among those that lock the same path; waits for its turn."""
    _make_folder(path.parent)
    # A file of its own: the vault itself is replaced by every write, and a lock on the old file would guard nothing.
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
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
