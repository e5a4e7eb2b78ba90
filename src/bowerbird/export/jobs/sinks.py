"""How blocks become files: one sink for each format. A sink is told when to finish its files, and says which it has finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from bowerbird.export.jobs.destinations import Destination, Finished, OutFile
from bowerbird.export.needed import is_there, needed
from bowerbird.export.rows.files import encoding
from bowerbird.export.rows.shapes import Shape
from bowerbird.export.rows.sheets import MOST_ROWS, Sheet
from bowerbird.export.tables.arrow import batch, nothing, schema
from bowerbird.export.tables.plain import rows
from bowerbird.reports.blocks.block import Block

Name = Callable[[], str]
"""Gives the next file its name."""


class Sink(Protocol):
    """Takes the blocks of an export."""

    most: int | None
    """Rows that one of its files can hold."""

    def write(self, block: Block) -> None: ...

    def finish(self) -> list[Finished]:
        """Everything written is in whole files now; the next block begins new ones."""
        ...

    def growing(self) -> tuple[str, int, int] | None:
        """A file that can be gone on with: its name, its rows, its bytes that are on the disk. None: there is none."""
        ...

    def leave(self) -> None:
        """Lets go of what is not whole."""
        ...


class _Growing:
    """The file that a sink writes just now, if any; the next one is opened when something comes."""

    def __init__(self, destination: Destination, name: Name) -> None:
        self._destination = destination
        self._name = name
        self.file: OutFile | None = None
        self.rows = 0

    def opened(self, name: str | None = None, rows: int = 0, at: int = 0) -> OutFile:
        """A new file, or one that is gone on with where it was left."""
        self.file, self.rows = OutFile(self._destination, name or self._name(), at), rows
        return self.file

    def finished(self) -> list[Finished]:
        if self.file is None:
            return []
        done, self.file = self.file.finish(self.rows), None
        return [done]

    def noted(self) -> tuple[str, int, int] | None:
        if self.file is None or not self.file.size or not self._destination.keeps_parts:
            return None
        self.file.sync()
        return self.file.name, self.rows, self.file.size

    def leave(self) -> None:
        if self.file is not None:
            self.file.leave()


class LineSink:
    """Formats of which a file can end after any row: JSON lines, CSV, ids."""

    most: int | None = None

    def __init__(self, destination: Destination, name: Name, header: bytes, encode: Callable[[Block], bytes]) -> None:
        self._header = header
        self._encode = encode
        self._out = _Growing(destination, name)
        self.go_on, self.finish = self._out.opened, self._out.finished
        self.growing, self.leave = self._out.noted, self._out.leave

    def write(self, block: Block) -> None:
        file = self._out.file
        if file is None:
            file = self._out.opened()
            file.write(self._header)
        if block.rows:
            file.write(self._encode(block))
            self._out.rows += block.rows


class ParquetSink:
    """One Parquet file: Zstandard, row groups of about 100,000 rows."""

    most: int | None = None
    _GROUP = 100_000

    def __init__(self, destination: Destination, name: Name, shape: Shape) -> None:
        self._parquet = needed("pyarrow.parquet", "Parquet")
        self._shape = shape
        self._schema = schema(shape)
        self._out = _Growing(destination, name)
        self.leave = self._out.leave
        self._writer: Any = None
        self._waiting: list[Any] = []

    def write(self, block: Block) -> None:
        self.add(batch(self._shape, block) if block.rows else nothing(self._schema))

    def add(self, rows: Any) -> None:
        """The same with rows that are an Arrow batch already."""
        if self._out.file is None:
            self._writer = self._parquet.ParquetWriter(
                self._out.opened(), self._schema, compression="zstd", compression_level=1, store_schema=True
            )
        self._waiting.append(rows)
        self._out.rows += len(rows)
        if self.waiting >= self._GROUP:
            self.flush()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting))

    def flush(self) -> None:
        """What waits becomes a row group."""
        if self._waiting:
            table = needed("pyarrow", "Parquet").Table.from_batches(self._waiting, self._schema)
            self._writer.write_table(table, row_group_size=max(len(table), 1))
            self._waiting = []

    def finish(self) -> list[Finished]:
        if self._out.file is not None:
            self.flush()
            self._writer.close()
        return self._out.finished()

    def growing(self) -> tuple[str, int, int] | None:
        return None


class XlsxSink:
    """A workbook with one sheet. Every text is a text, never a formula or a link; a cell holds 32,767 letters, no more."""

    most: int | None = MOST_ROWS

    def __init__(self, destination: Destination, name: Name, shape: Shape) -> None:
        needed("xlsxwriter", "XLSX")
        self._shape = shape
        self._out = _Growing(destination, name)
        self.leave = self._out.leave
        self._sheet: Sheet | None = None

    def write(self, block: Block) -> None:
        if self._out.file is None or self._sheet is None:
            self._sheet = Sheet(self._out.opened(), self._shape)
        if block.rows:
            self._sheet.write(rows(self._shape, block))
            self._out.rows += block.rows

    def finish(self) -> list[Finished]:
        if self._sheet is not None:
            self._sheet.close()
            self._sheet = None
        return self._out.finished()

    def growing(self) -> tuple[str, int, int] | None:
        return None


def line_sink(destination: Destination, name: Name, shape: Shape, format_: str) -> LineSink:
    """A sink for `jsonl`, `csv` or `ids`; CSV by Arrow where that is installed, which is several times as quick."""
    encoded = encoding(format_, shape)
    if format_ == "csv" and is_there("pyarrow"):
        from bowerbird.export.tables.csv_batches import csv

        return LineSink(destination, name, encoded.header(), lambda block: csv(shape, block))
    return LineSink(destination, name, encoded.header(), lambda block: encoded.rows(rows(shape, block)))


def raw_sink(destination: Destination, name: Name) -> LineSink:
    """Payloads as the networks sent them, one a line; rows without one are left out."""

    def lines(block: Block) -> bytes:
        return b"".join(each.replace(b"\n", b" ") + b"\n" for each in block.values("raw") if each)

    return LineSink(destination, name, b"", lines)
