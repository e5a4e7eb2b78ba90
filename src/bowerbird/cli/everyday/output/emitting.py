"""Writes what a command finds while it is found, and remembers how far: a killed command loses no row and doubles none.

Rows go into the file before the store says so; what a file has beyond what the store says is cut off and written again, if it
is ours: other commands may have added to it meanwhile, or the file may be another one by now.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

from msgspec import Struct, structs

from bowerbird.cli.everyday.output.rows import RowMaker
from bowerbird.errors import StoreError, UserError
from bowerbird.export.rows.files import RowFile, encoding, format_of, open_rows
from bowerbird.export.rows.shapes import Shape
from bowerbird.ports import Database
from bowerbird.reports.browsing.results import Line, ResultReader
from bowerbird.store.results.outputs import Position, keep_position, read_position

STANDARD_OUTPUT = "-"
Ripe = Callable[[Line], bool]
"""Whether everything is known of a result that will be."""


class Target(Struct, frozen=True):
    """Where rows go."""

    path: Path | None
    shape: Shape
    format: str | None = None
    appends: bool = False


class Emitter:
    """One output of one command."""

    def __init__(self, database: Database, crawl: int, reader: ResultReader, maker: RowMaker, target: Target) -> None:
        self._database = database
        self._crawl = crawl
        self._reader = reader
        self._maker = maker
        self._target = target
        self._path = STANDARD_OUTPUT if target.path is None else str(target.path.resolve())
        self._file: RowFile | None = None
        self.position = Position()
        self.is_closed_by_reader = False
        """Nobody reads standard output any more (`| head`)."""

    async def open(self) -> None:
        """Makes the output ready to be gone on with; raises `UserError` where it cannot be written."""
        known = await self._known()
        target = self._target
        if target.path is None:
            # A shell that begins a file anew must get all rows again; `>>` goes with --append.
            self.position = known if known is not None and target.appends else Position()
            self._file = open_rows(None, target.shape, format=target.format)
            return
        if known is None:
            known = Position(base=self._first_base(target.path))
            known = structs.replace(known, size=known.base)
            await self._keep(known)
        self.position = await self._mended(target.path, known)
        self._file = open_rows(target.path, target.shape, format=target.format, append=True)

    async def emit(self, *, with_raw: bool = False, is_ripe: Ripe | None = None) -> None:
        """Writes what was found since, up to the first that is not ripe."""
        while not self.is_closed_by_reader and (lines := await self._reader.after(self.position.result)):
            ripe = lines if is_ripe is None else list(takewhile(is_ripe, lines))
            if ripe:
                await self._write(await self._maker.rows(ripe, with_raw=with_raw), ripe[-1].number)
            if len(ripe) < len(lines):
                return

    async def finish(self, *, with_raw: bool = False) -> None:
        """The command has come to its end: nothing is left to write."""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _opened(self) -> RowFile:
        if self._file is None:
            raise StoreError("rows were found before their output was opened")
        return self._file

    async def _write(self, rows: list[tuple[object, ...]], result: int) -> None:
        try:
            self._opened().write(rows)
        except BrokenPipeError:
            self.is_closed_by_reader = True
            return
        size = 0 if self._target.path is None else self._target.path.stat().st_size
        position = structs.replace(self.position, result=result, size=size, rows=self.position.rows + len(rows))
        await self._keep(position)
        self.position = position

    def _first_base(self, path: Path) -> int:
        """How long a file is that is added to for the first time."""
        if not path.exists():
            return 0
        if not self._target.appends:
            raise UserError(
                f"{path} exists already",
                "add to it with --append, choose another name, or move it away: nothing is overwritten",
                code="already_exists",
            )
        return path.stat().st_size

    async def _mended(self, path: Path, known: Position) -> Position:
        """Cuts off what we wrote after the last position that is known; begins anew where the file has lost something."""
        size = _size(path)
        if size < known.base:
            raise UserError(
                f"{path} is shorter than when this command began to add to it",
                "put it back, choose another file, or --fresh",
                code="file_damaged",
            )
        has_added = known.size > known.base or not self._target.appends
        if size > known.base and has_added and not await self._is_ours(path, known.base, 0):
            raise UserError(
                f"{path} is not the file that this command has begun",
                "move it away, choose another name, or --fresh",
                code="file_changed",
            )
        if size < known.size:
            known = Position(base=known.base, size=known.base)
        elif size > known.size and not await self._is_ours(path, known.size, known.result):
            return structs.replace(known, size=size)
        if size > known.size:
            os.truncate(path, known.size)
        return known

    async def _is_ours(self, path: Path, at: int, result: int) -> bool:
        """Whether the row at a place of the file is one of those that follow a result, or was never whole."""
        header = encoding(format_of(path, self._target.format), self._target.shape).header()
        first = _row_at(path, at, header)
        rows = await self._maker.rows(await self._reader.after(result), with_raw=False)
        return not first.endswith(b"\n") or any(str(row[self._maker.width]).encode() in first for row in rows)

    async def _known(self) -> Position | None:
        async with self._database.reading() as tx:
            return await read_position(tx, self._crawl, self._path)

    async def _keep(self, position: Position) -> None:
        async with self._database.transaction() as tx:
            await keep_position(tx, self._crawl, self._path, position)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _row_at(path: Path, at: int, header: bytes) -> bytes:
    """The first row at a place or behind a header there; lines end inside of quotes only where there are headers."""
    with path.open("rb") as file:
        file.seek(at)
        row = file.readline()
        if row == header:
            row = file.readline()
        while header and row.count(b'"') % 2 and (more := file.readline()):
            row += more
    return row
