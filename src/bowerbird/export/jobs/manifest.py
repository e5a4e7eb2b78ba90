"""What lies beside an export: what it is, of which store, when and how chosen, and every file with its checksum.

While an export is under way the same file says how far it has come, so that the same command can go on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird import __version__
from bowerbird.errors import UserError
from bowerbird.export.jobs.destinations import Destination, Finished


class Source(Struct, frozen=True):
    """Where the rows come from."""

    store: str
    """Without a password."""
    version: int


class GoOn(Struct, frozen=True):
    """How far an export under way has come."""

    after: tuple[Any, ...] | None
    """Key of the last row that is in the files."""
    growing: tuple[str, int, int] | None = None
    """A file that is not whole yet: name, rows and bytes."""


class Run(Struct, frozen=True, kw_only=True):
    """One export to this place; several where each added what was new."""

    began_at: datetime
    ended_at: datetime | None = None
    rows: int = 0
    found_after: datetime | None = None
    found_until: datetime | None = None
    """Where given: the next run begins there."""


class Applied(Struct, frozen=True, kw_only=True):
    """One time that what was forgotten and deleted since was taken out of the files."""

    began_at: datetime
    ended_at: datetime | None = None
    known_from: str
    """The store, without a password, or the list that told what is gone."""
    rows_removed: int = 0
    rows_changed: int = 0


class Replacing(Struct, frozen=True):
    """What a file is just becoming: written down before it is replaced, so that whoever comes after a crash knows it."""

    file: Finished
    removed: int
    changed: int


class Manifest(Struct, kw_only=True):
    what: str
    format: str
    source: Source
    options: dict[str, Any]
    """What was chosen, as it was asked for; the same in every run."""
    columns: list[str]
    rows: int = 0
    """Of a network its edges."""
    nodes: int | None = None
    """Of a network."""
    files: list[Finished] = []
    runs: list[Run] = []
    parts: int = 0
    """Names that were given to files by now."""
    bowerbird: str = __version__
    go_on: GoOn | None = None
    """None: everything is there."""
    applied: list[Applied] = []
    replacing: Replacing | None = None

    @property
    def run(self) -> Run:
        return self.runs[-1]


class ManifestFile:
    """The manifest of one export in its place."""

    def __init__(self, destination: Destination, name: str) -> None:
        self._destination = destination
        self.name = name

    def read(self) -> Manifest | None:
        content = self._destination.read(self.name)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Manifest)
        except msgspec.MsgspecError as error:
            raise UserError(
                f"{self._destination.shown} holds a {self.name} that is no manifest of an export: {error}", code="file_damaged"
            ) from error

    def write(self, manifest: Manifest) -> None:
        self._destination.put(self.name, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
