"""One export: blocks from a reader into files of a place, with a manifest that is never ahead of the files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Protocol

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.export.jobs.destinations import Destination
from bowerbird.export.jobs.manifest import GoOn, Manifest, ManifestFile, Run
from bowerbird.export.jobs.naming import Naming
from bowerbird.export.jobs.sinks import LineSink, Sink
from bowerbird.reports.blocks.block import Block, Key


class Blocks(Protocol):
    """Reads what is exported."""

    def blocks(self, after: Key | None = None, *, raw: bool = False) -> AsyncIterator[Block]: ...


class Manner(Struct, frozen=True, kw_only=True):
    """How an export is written."""

    split: int | None = None
    """Rows of one file."""
    raw: bool = False
    noted: int = 100_000
    """Rows after which a file that can be gone on with is noted down."""
    finished: int = 1_000_000
    """Rows after which files that cannot be gone on with are finished, where an export is a folder of files anyway."""
    change: Callable[[Block], None] | None = None
    """What is done to every block before it is written."""
    told: Callable[[int, Key], None] | None = None
    """Hears how many rows are written, and the key of the last one."""


class Job:
    """Goes on where the manifest says, and keeps it up to date."""

    def __init__(self, destination: Destination, manifest: Manifest, file: ManifestFile, naming: Naming) -> None:
        self._destination = destination
        self.manifest = manifest
        self._file = file
        self._naming = naming
        self._since = 0
        """Rows written since the manifest was."""
        self._in_file = 0
        self._after: Key | None = None
        """Key of the last row that is written."""

    def next_name(self) -> str:
        self.manifest.parts += 1
        return self._naming.part(self.manifest.parts)

    async def run(self, source: Blocks, sink: Sink, manner: Manner, now: Callable[[], datetime]) -> Manifest:
        most = min((each for each in (manner.split, sink.most) if each is not None), default=None)
        self._after = self._opened(sink)
        try:
            async for block in source.blocks(self._after, raw=manner.raw):
                self._prepare(block, manner)
                self._written(block, sink, most, manner)
                if manner.told is not None:
                    manner.told(self.manifest.run.rows, block.last)
            return self._whole(sink, now())
        except BaseException:
            self._interrupted(sink)
            raise

    def _opened(self, sink: Sink) -> Key | None:
        go_on = self.manifest.go_on
        self._file.write(self.manifest)
        if go_on is None:
            return None
        if go_on.growing is not None and isinstance(sink, LineSink):
            sink.go_on(*go_on.growing)
            self._in_file = go_on.growing[1]
        return go_on.after

    def _prepare(self, block: Block, manner: Manner) -> None:
        if manner.raw:
            block.keep([bool(each) for each in block.values("raw")])
        if manner.change is not None and block.rows:
            manner.change(block)

    def _written(self, block: Block, sink: Sink, most: int | None, manner: Manner) -> None:
        while most is not None and self._in_file + block.rows >= most:
            first, block = block.cut(most - self._in_file)
            self._take(first, sink)
            self._finish(sink)
        self._take(block, sink)
        if self._since >= manner.noted:
            self._note(sink)
        if self._since >= manner.finished and self._naming.has_parts:
            self._finish(sink)

    def _take(self, block: Block, sink: Sink) -> None:
        if block.rows:
            sink.write(block)
        self._after = block.last
        self._in_file += block.rows
        self._since += block.rows
        self._count(block.rows)

    def _count(self, rows: int) -> None:
        self.manifest.rows += rows
        self.manifest.runs[-1] = structs.replace(self.manifest.run, rows=self.manifest.run.rows + rows)

    def _finish(self, sink: Sink) -> None:
        """Everything that is written is in whole files."""
        self.manifest.files += sink.finish()
        self.manifest.go_on = GoOn(self._after)
        self._file.write(self.manifest)
        self._in_file = self._since = 0

    def _note(self, sink: Sink) -> None:
        """Everything that is written is in whole files and in one that can be gone on with."""
        growing = sink.growing()
        if growing is not None:
            self.manifest.go_on = GoOn(self._after, growing)
            self._file.write(self.manifest)
            self._since = 0

    def _interrupted(self, sink: Sink) -> None:
        try:
            self._note(sink)
        finally:
            sink.leave()

    def _whole(self, sink: Sink, now: datetime) -> Manifest:
        if not self.manifest.files and self.manifest.run.rows == 0:
            # An export of nothing is a file without rows, and not nothing.
            sink.write(Block(0, {}, (), ()))
        self.manifest.files += sink.finish()
        self.manifest.go_on = None
        self.manifest.runs[-1] = structs.replace(self.manifest.run, ended_at=now)
        self._file.write(self.manifest)
        return self.manifest


def begun(file: ManifestFile, wanted: Manifest, run: Run, *, only_new: bool) -> Manifest:
    """The manifest to go on with, or a new one; raises `UserError` where the place holds something else."""
    found = file.read()
    if found is None:
        wanted.runs = [run]
        wanted.go_on = GoOn(None)
        return wanted
    _check_same(file, found, wanted)
    if found.go_on is not None:
        return found
    if not only_new:
        raise UserError(
            f"{file.name} says that this export is there already",
            "--new adds what was found since, or choose another place",
            code="already_exists",
        )
    last = found.run.found_until
    if last is None:
        raise UserError(
            "the export that is there was not made with --new, so that nobody knows what is new", "choose another place"
        )
    found.runs.append(structs.replace(run, found_after=last))
    found.go_on = GoOn(None)
    return found


def _check_same(file: ManifestFile, found: Manifest, wanted: Manifest) -> None:
    for name in ("what", "format", "options", "columns"):
        was, now = getattr(found, name), getattr(wanted, name)
        if was != now:
            raise UserError(
                f"{file.name} belongs to an export with other {name} ({was}, not {now})", "repeat that command, or go elsewhere"
            )
