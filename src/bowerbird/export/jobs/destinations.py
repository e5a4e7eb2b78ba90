"""Where an export goes: a folder of this machine, or a part of an S3-compatible store.

A file is written under a name that ends with `.part` and gets its own when it is whole. For an object store that happens in a
folder of this machine; a file is sent when it is whole, so that nobody ever sees a part of one there.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.export.needed import needed
from bowerbird.export.object_stores import object_store
from bowerbird.export.rows.files import unwritten

_CHUNK = 1 << 20


class Finished(Struct, frozen=True):
    """A file that is whole."""

    name: str
    rows: int
    bytes: int
    sha256: str


class OutFile:
    """A growing file: counts and hashes what is written. Not buffered: what was written is with the system."""

    def __init__(self, destination: Destination, name: str, at: int = 0) -> None:
        self._destination = destination
        self.name = name
        self._path = destination.local(name)
        self.size = 0
        self._hash = sha256()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if at:
                self._go_on(at)
            else:
                self._file = self._path.open("wb", buffering=0)
        except OSError as error:
            raise unwritten(str(self._path), error) from error

    def _go_on(self, at: int) -> None:
        self._destination.reopen(self.name)
        self._file = self._path.open("r+b", buffering=0)
        while self.size < at and (chunk := self._file.read(min(_CHUNK, at - self.size))):
            self._hash.update(chunk)
            self.size += len(chunk)
        if self.size < at:
            self._file.close()
            raise UserError(f"{self._path} is shorter than its manifest says", "delete both and begin anew", code="file_damaged")
        self._file.truncate()

    def write(self, content: Any) -> int:
        """All of it or nothing, so that an export can go on behind what is there."""
        view = memoryview(content).cast("B")
        try:
            left = view
            while left:
                left = left[self._file.write(left) or 0 :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self.size)
            raise unwritten(str(self._path), error) from error
        self._hash.update(view)
        self.size += len(view)
        return len(view)

    def sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritten(str(self._path), error) from error

    def finish(self, rows: int) -> Finished:
        """The file is on the disk, under its own name."""
        self.sync()
        self._file.close()
        self._destination.publish(self.name)
        return self.made(rows)

    def made(self, rows: int) -> Finished:
        """What the file is as far as it was written."""
        return Finished(self.name, rows, self.size, self._hash.hexdigest())

    def leave(self) -> None:
        """Closes it as it is, to be gone on with."""
        self._file.close()

    # What Arrow asks of a file that it writes to.
    closed = False

    def flush(self) -> None: ...

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None: ...


class Destination(Protocol):
    """Holds the files of an export by name."""

    shown: str
    keeps_parts: bool
    """Whether a file that is not whole is still there when the same command is run again."""

    def local(self, name: str) -> Path:
        """Where a file grows."""
        ...

    def publish(self, name: str) -> None:
        """Gives a whole file its own name."""
        ...

    def reopen(self, name: str) -> None:
        """Takes the name back from a file that got it just before an interruption, and of which nobody knows yet."""
        ...

    def has(self, name: str) -> bool: ...

    def read(self, name: str) -> bytes | None: ...

    def put(self, name: str, content: bytes) -> None:
        """Puts a small file there, whole or not at all."""
        ...

    def close(self) -> None:
        """Leaves nothing on this machine that does not belong there."""
        ...


class Folder:
    """Implements `Destination` in a folder of this machine."""

    keeps_parts = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self.shown = str(path)

    def local(self, name: str) -> Path:
        return self._path / f"{name}.part"

    def publish(self, name: str) -> None:
        self.local(name).replace(self._path / name)

    def reopen(self, name: str) -> None:
        if not self.local(name).exists() and self.has(name):
            (self._path / name).replace(self.local(name))

    def has(self, name: str) -> bool:
        return (self._path / name).exists()

    def read(self, name: str) -> bytes | None:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, name: str, content: bytes) -> None:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            part = self.local(name)
            part.write_bytes(content)
            part.replace(self._path / name)
        except OSError as error:
            raise unwritten(str(self._path / name), error) from error

    def close(self) -> None:
        """Nothing: what is not whole is gone on with."""


class Bucket:
    """Implements `Destination` in an object store, `s3://BUCKET/PREFIX`. Keys and address come from where S3 tools look."""

    keeps_parts = False

    def __init__(self, address: str, endpoint: str | None = None) -> None:
        fs = needed("pyarrow.fs", "an object store")
        self.shown = address
        self._fs, self._prefix = object_store(address, endpoint)
        self._copy = fs.copy_files
        self._local = fs.LocalFileSystem()
        self._spool = tempfile.TemporaryDirectory(prefix="bowerbird-export-")

    def local(self, name: str) -> Path:
        return Path(self._spool.name) / name

    def publish(self, name: str) -> None:
        path = self.local(name)
        try:
            self._copy(str(path), self._at(name), source_filesystem=self._local, destination_filesystem=self._fs)
        except OSError as error:
            raise UserError(f"cannot write to {self.shown}: {error}", code="file_unwritable") from error
        path.unlink()

    def reopen(self, name: str) -> None:
        """Nothing: a file is sent when it is whole."""

    def has(self, name: str) -> bool:
        return self._is_there(name)

    def read(self, name: str) -> bytes | None:
        if not self._is_there(name):
            return None
        with self._fs.open_input_stream(self._at(name)) as file:
            content: bytes = file.read()
        return content

    def put(self, name: str, content: bytes) -> None:
        self.local(name).parent.mkdir(parents=True, exist_ok=True)
        self.local(name).write_bytes(content)
        self.publish(name)

    def close(self) -> None:
        self._spool.cleanup()

    def _is_there(self, name: str) -> bool:
        try:
            return bool(self._fs.get_file_info(self._at(name)).is_file)
        except OSError as error:
            raise UserError(
                f"cannot read {self.shown}: {error}.", "Are the bucket, its address and the keys right?", code="file_unreadable"
            ) from error

    def _at(self, name: str) -> str:
        return f"{self._prefix}/{name}"
