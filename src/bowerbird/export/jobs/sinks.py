"""How blocks become files: one sink for each format. A sink is told when to finish its files, and says which it has finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from bowerbird.export.jobs.places import Finished, OutFile, Place
from bowerbird.export.needed import is_there, needed
from bowerbird.export.rows.files import encoding
from bowerbird.export.rows.shapes import Shape
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


class LineSink:
    """Formats of which a file can end after any row: JSON lines, CSV, ids."""

    most: int | None = None

    def __init__(self, place: Place, name: Name, header: bytes, encode: Callable[[Block], bytes]) -> None:
        self._place = place
        self._name = name
        self._header = header
        self._encode = encode
        self._file: OutFile | None = None
        self._rows = 0

    def go_on(self, name: str, rows: int, at: int) -> None:
        """Opens a file where it was left."""
        self._file, self._rows = OutFile(self._place, name, at), rows

    def write(self, block: Block) -> None:
        if self._file is None:
            self._file, self._rows = OutFile(self._place, self._name()), 0
            self._file.write(self._header)
        if block.rows:
            self._file.write(self._encode(block))
            self._rows += block.rows

    def finish(self) -> list[Finished]:
        if self._file is None:
            return []
        done, self._file = self._file.finish(self._rows), None
        return [done]

    def growing(self) -> tuple[str, int, int] | None:
        if self._file is None or not self._file.size or not self._place.keeps_parts:
            return None
        self._file.sync()
        return self._file.name, self._rows, self._file.size

    def leave(self) -> None:
        if self._file is not None:
            self._file.leave()


class ParquetSink:
    """One Parquet file: Zstandard, row groups of about 100,000 rows."""

    most: int | None = None
    _GROUP = 100_000

    def __init__(self, place: Place, name: Name, shape: Shape) -> None:
        self._parquet = needed("pyarrow.parquet", "Parquet")
        self._place = place
        self._name = name
        self._shape = shape
        self._schema = schema(shape)
        self._file: OutFile | None = None
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, block: Block) -> None:
        self.add(batch(self._shape, block) if block.rows else nothing(self._schema))

    def add(self, rows: Any) -> None:
        """The same with rows that are an Arrow batch already."""
        if self._file is None:
            self._file, self._rows = OutFile(self._place, self._name()), 0
            self._writer = self._parquet.ParquetWriter(
                self._file, self._schema, compression="zstd", compression_level=1, store_schema=True
            )
        self._waiting.append(rows)
        self._rows += len(rows)
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
        if self._file is None:
            return []
        self.flush()
        self._writer.close()
        done, self._file = self._file.finish(self._rows), None
        return [done]

    def growing(self) -> tuple[str, int, int] | None:
        return None

    def leave(self) -> None:
        if self._file is not None:
            self._file.leave()


class XlsxSink:
    """A workbook with one sheet. Every text is a text, never a formula or a link; a cell holds 32,767 letters, no more."""

    most: int | None = 1_048_575
    _LONGEST = 32_767

    def __init__(self, place: Place, name: Name, shape: Shape) -> None:
        self._xlsx = needed("xlsxwriter", "XLSX")
        self._place = place
        self._name = name
        self._shape = shape
        self._file: OutFile | None = None
        self._rows = 0
        self.cut = 0
        """Texts that were too long for a cell."""

    def write(self, block: Block) -> None:
        if self._file is None:
            self._begin()
        for row in rows(self._shape, block) if block.rows else ():
            self._rows += 1
            self._put(row)

    def _begin(self) -> None:
        self._file, self._rows = OutFile(self._place, self._name()), 0
        self._book = self._xlsx.Workbook(self._file, {"constant_memory": True, "strings_to_urls": False})
        self._sheet = self._book.add_worksheet(self._shape.name)
        self._sheet.freeze_panes(1, 0)
        self._put(self._shape.names)

    def _put(self, row: tuple[Any, ...]) -> None:
        for place, value in enumerate(row):
            if isinstance(value, bool):
                self._sheet.write_boolean(self._rows, place, value)
            elif isinstance(value, int | float):
                self._sheet.write_number(self._rows, place, value)
            elif value is not None:
                self._sheet.write_string(self._rows, place, self._fit(value))

    def _fit(self, value: Any) -> str:
        text = "|".join(value) if isinstance(value, tuple) else str(value)
        self.cut += len(text) > self._LONGEST
        return text[: self._LONGEST]

    def finish(self) -> list[Finished]:
        if self._file is None:
            return []
        self._book.close()
        done, self._file = self._file.finish(self._rows), None
        return [done]

    def growing(self) -> tuple[str, int, int] | None:
        return None

    def leave(self) -> None:
        if self._file is not None:
            self._file.leave()


def line_sink(place: Place, name: Name, shape: Shape, format_: str) -> LineSink:
    """A sink for `jsonl`, `csv` or `ids`; CSV by Arrow where that is installed, which is several times as quick."""
    encoded = encoding(format_, shape)
    if format_ == "csv" and is_there("pyarrow"):
        from bowerbird.export.tables.csv_batches import csv

        return LineSink(place, name, encoded.header(), lambda block: csv(shape, block))
    return LineSink(place, name, encoded.header(), lambda block: encoded.rows(rows(shape, block)))


def raw_sink(place: Place, name: Name) -> LineSink:
    """Payloads as the networks sent them, one a line; rows without one are left out."""

    def lines(block: Block) -> bytes:
        return b"".join(each.replace(b"\n", b" ") + b"\n" for each in block.values("raw") if each)

    return LineSink(place, name, b"", lines)
