"""Where files stand on disk. Names come from our own hash of the id, so that nothing a server says can choose a path.

A file has its name only when it is whole: what a kill leaves behind ends in `.part` and is cleared away by the next try.
Two workers that fetch the same file (one of them was taken for dead) each write their own part; the first whole one stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from uuid import uuid4

from msgspec import Struct

_ENDINGS = {
    "image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "image/avif": ".avif",
    "video/mp4": ".mp4", "video/webm": ".webm", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/x-mpegurl": ".m3u8",
}  # fmt: skip
_PART = ".part"
_OTHER = ".bin"


class StoredFile(Struct, frozen=True):
    """A whole file: its path below the folder, the hash of its content and its size."""

    path: str
    sha256: str
    size: int


class MediaFolder:
    """The folder of one crawl's media."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def find(self, media: str) -> StoredFile | None:
        """The file of an id if it is there whole: fetched, but the database was not told before we were killed."""
        found = self._files(media)
        if not found:
            return None
        with found[0].open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        return StoredFile(self._below(found[0]), digest, found[0].stat().st_size)

    def remove(self, media: str) -> None:
        for path in (*self._files(media), *_parts(self._stem(media))):
            path.unlink(missing_ok=True)

    def begin(self, media: str) -> Writing:
        """A file to fill; it gets its name at the end."""
        stem = self._stem(media)
        for folder in (self._folder, stem.parent):
            # Without `parents`, those above are made as usual: `mode` would not hold for them.
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        # Of whoever fetched it before: dead, or taken for dead.
        for part in _parts(stem):
            part.unlink(missing_ok=True)
        return Writing(stem, self._below, partial(self.find, media))

    def _files(self, media: str) -> list[Path]:
        stem = self._stem(media)
        return sorted(path for path in stem.parent.glob(f"{stem.name}.*") if path.suffix != _PART)

    def _stem(self, media: str) -> Path:
        name = sha256(media.encode(errors="replace")).hexdigest()[:40]
        return self._folder / name[:2] / name

    def _below(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()


class Writing:
    """One file being filled."""

    def __init__(self, stem: Path, below: Callable[[Path], str], found: Callable[[], StoredFile | None]) -> None:
        """`found`: the whole file, if another worker was first."""
        self._stem = stem
        self._found = found
        self._part = stem.with_name(f"{stem.name}.{uuid4().hex}{_PART}")
        self._below = below
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._hash = sha256()
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._file.write(piece)
        self._hash.update(piece)
        self._size += len(piece)

    def keep(self, kind: str) -> StoredFile | None:
        """Gives the file its name, durably; the ending tells what the server says it is. None when another has taken over."""
        path = self._stem.with_name(self._stem.name + _ENDINGS.get(kind, _OTHER))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if (first := self._found()) is not None:
            return first
        try:
            self._part.replace(path)
        except FileNotFoundError:
            return None
        _settle_folder(path.parent)
        return StoredFile(self._below(path), self._hash.hexdigest(), self._size)

    def drop(self) -> None:
        """Leaves nothing behind; after `keep` there is nothing to leave."""
        self._file.close()
        self._part.unlink(missing_ok=True)


def _parts(stem: Path) -> list[Path]:
    return list(stem.parent.glob(f"{stem.name}*{_PART}"))


def _settle_folder(folder: Path) -> None:
    """A name is durable when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
