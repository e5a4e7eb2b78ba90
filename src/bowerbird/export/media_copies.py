"""Copies of media, beside the backup of a store: to another folder or an S3-compatible store, checked by their hashes, and back.

A copy is a plain tree of the same paths. What is there already with the right size and hash is not copied again; a manifest says
what was found whole.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, Protocol

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.export.needed import needed
from bowerbird.export.object_stores import object_store
from bowerbird.ports import Database

MANIFEST = "_media.manifest.json"
_BATCH = 500
_CHUNK = 1 << 20
_NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{40}\.\w+")
"""Of a file of media, below its folder."""
_KEPT = """
select file, path, sha256, bytes from media_files
where state = 'kept' and path is not null and sha256 is not null and file > ? order by file limit ?
"""
Said = Callable[[int, int], None]
"""Hears how many files are through, and how many bytes."""


class CopyError(UserError):
    """Something of a copy is not as it should be."""

    default_code = "copy_failed"


class MediaFile(Struct, frozen=True):
    """One file as the store knows it."""

    path: str
    sha256: str
    size: int


class MediaCopied(Struct):
    """What became of the files of a store."""

    files: int = 0
    """There, each with the right hash."""
    copied: int = 0
    """Of these, now; the others were there."""
    size: int = 0
    missing: list[str] = []
    """The store knows them, and they are not where they should be."""
    damaged: list[str] = []
    """They are there and are not what the store knows."""
    removed: int = 0
    """From the copy: the store keeps them no longer."""


class MediaLocation(Protocol):
    """A tree of files."""

    shown: str

    def open(self, path: str) -> BinaryIO | None:
        """A file to read; None where there is none."""
        ...

    def size(self, path: str) -> int | None: ...

    def put(self, path: str, source: BinaryIO) -> None:
        """Writes a file, whole or not at all."""
        ...

    def paths(self) -> Iterator[str]:
        """Of all files."""
        ...

    def remove(self, path: str) -> None: ...


class FolderLocation:
    """Implements `MediaLocation` in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shown = str(folder)

    def open(self, path: str) -> BinaryIO | None:
        try:
            return self._at(path).open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def size(self, path: str) -> int | None:
        try:
            return self._at(path).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, path: str, source: BinaryIO) -> None:
        target = self._at(path)
        part = target.with_name(f"{target.name}.copying")
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with part.open("wb") as file:
                copyfileobj(source, file, _CHUNK)
            part.replace(target)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise CopyError(
                f"cannot write to {self.shown}: {error.strerror or error}.", "Is there room on the disk?", code="file_unwritable"
            ) from error

    def paths(self) -> Iterator[str]:
        files = (each for each in self._folder.rglob("*") if each.is_file())
        return (each.relative_to(self._folder).as_posix() for each in files)

    def remove(self, path: str) -> None:
        self._at(path).unlink(missing_ok=True)

    def _at(self, path: str) -> Path:
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder.resolve()):
            raise CopyError(f"{path} would lie outside of {self.shown}: the store it comes from is not to be trusted")
        return found


class BucketLocation:
    """Implements `MediaLocation` in an object store, `s3://BUCKET/PREFIX`. Keys and address come from where S3 tools look."""

    def __init__(self, address: str, endpoint: str | None = None) -> None:
        self.shown = address
        self._fs, self._prefix = object_store(address, endpoint)
        self._selector = needed("pyarrow.fs", "an object store").FileSelector

    def open(self, path: str) -> BinaryIO | None:
        if self.size(path) is None:
            return None
        file: BinaryIO = self._fs.open_input_stream(self._at(path))
        return file

    def size(self, path: str) -> int | None:
        try:
            found: Any = self._fs.get_file_info(self._at(path))
        except OSError as error:
            raise CopyError(
                f"cannot read {self.shown}: {error}.", "Are the bucket, its address and the keys right?", code="file_unreadable"
            ) from error
        return int(found.size) if found.is_file else None

    def put(self, path: str, source: BinaryIO) -> None:
        try:
            # It appears when it is closed, and not before.
            with self._fs.open_output_stream(self._at(path)) as file:
                copyfileobj(source, file, _CHUNK)
        except OSError as error:
            raise CopyError(
                f"cannot write to {self.shown}: {error}.",
                "Are the bucket, its address and the keys right?",
                code="file_unwritable",
            ) from error

    def paths(self) -> Iterator[str]:
        found: Any = self._fs.get_file_info(self._selector(self._prefix, recursive=True, allow_not_found=True))
        return (each.path.removeprefix(f"{self._prefix}/") for each in found if each.is_file)

    def remove(self, path: str) -> None:
        self._fs.delete_file(self._at(path))

    def _at(self, path: str) -> str:
        return f"{self._prefix}/{path}"


def location_at(where: str, endpoint: str | None = None) -> MediaLocation:
    """A folder, or a part of an object store (`s3://…`)."""
    if where.startswith("s3://"):
        return BucketLocation(where, endpoint)
    if "://" in where:
        raise UserError(f"{where} is neither a folder nor s3://BUCKET/FOLDER", code="invalid_address")
    return FolderLocation(Path(where).expanduser())


async def copy_media(
    database: Database,
    source: Sequence[MediaLocation],
    target: MediaLocation,
    said: Said = lambda files, size: None,
    *,
    prunes: bool = False,
) -> MediaCopied:
    """Copies every file that a store keeps from wherever it is, and reads each copy again to know that it is whole; what is there
    already is only read. `prunes`: other files of media leave the copy, because the store keeps them no longer."""
    done, after, kept = MediaCopied(), 0, set[str]()
    while True:
        async with database.reading() as tx:
            rows = await tx.fetch(_KEPT, after, _BATCH)
        files = [MediaFile(row["path"], row["sha256"], int(row["bytes"] or 0)) for row in rows]
        kept |= {file.path for file in files}
        await asyncio.to_thread(_copied, files, source, target, done)
        said(done.files, done.size)
        if len(rows) < _BATCH:
            break
        after = rows[-1]["file"]
    if prunes:
        done.removed = await asyncio.to_thread(_pruned, target, kept)
    return done


def write_manifest(target: MediaLocation, done: MediaCopied) -> None:
    """Says beside a copy what was found whole in it, and what was not to be had."""
    told = {"files": done.files, "bytes": done.size, "missing": done.missing, "damaged": done.damaged}
    target.put(MANIFEST, BytesIO(msgspec.json.format(msgspec.json.encode(told), indent=2)))


def _pruned(target: MediaLocation, kept: Collection[str]) -> int:
    """Removes files with names that media have, and no others; answers how many."""
    gone = [path for path in target.paths() if _NAME.fullmatch(path) and path not in kept]
    for path in gone:
        target.remove(path)
    return len(gone)


def _copied(files: Sequence[MediaFile], source: Sequence[MediaLocation], target: MediaLocation, done: MediaCopied) -> None:
    for file in files:
        if target.size(file.path) == file.size and _hash(target, file.path) == file.sha256:
            done.files, done.size = done.files + 1, done.size + file.size
        else:
            _copy(file, source, target, done)


def _copy(file: MediaFile, source: Sequence[MediaLocation], target: MediaLocation, done: MediaCopied) -> None:
    """Copies one file; one that is damaged at its source is told, and never takes the place of a good copy."""
    hashes = {each: _hash(each, file.path) for each in source}
    good = next((each for each, found in hashes.items() if found == file.sha256), None)
    opened = good.open(file.path) if good is not None else None
    if opened is None:
        (done.damaged if any(hashes.values()) else done.missing).append(file.path)
        return
    with opened:
        target.put(file.path, opened)
    if _hash(target, file.path) != file.sha256:
        raise CopyError(
            f"the copy of {file.path} in {target.shown} is not what was written: its medium cannot be trusted",
            code="file_damaged",
        )
    done.files, done.copied, done.size = done.files + 1, done.copied + 1, done.size + file.size


def _hash(location: MediaLocation, path: str) -> str | None:
    opened = location.open(path)
    if opened is None:
        return None
    digest = sha256()
    with opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
