"""One file of an export without what must go: written beside it first, row by row, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.export.cleaning.judging import Changed, Judge
from bowerbird.export.cleaning.lines import Lines, lines_of
from bowerbird.export.needed import needed

_ROWS = 5_000
"""Of one look into the store."""


class Cleaned(Struct):
    """What became of the rows of one file."""

    rows: int = 0
    """That stay."""
    removed: int = 0
    changed: int = 0

    def count(self, verdicts: Sequence[Changed | None]) -> None:
        removed = sum(each is None for each in verdicts)
        self.removed += removed
        self.changed += sum(bool(each) for each in verdicts)
        self.rows += len(verdicts) - removed

    def add(self, other: Cleaned) -> None:
        self.rows += other.rows
        self.removed += other.removed
        self.changed += other.changed


class Out(Protocol):
    """Takes what is written."""

    def write(self, content: Any) -> int: ...


async def clean(path: Path, out: Out | None, judge: Judge, of: tuple[str, str, Sequence[str]]) -> Cleaned:
    """Goes through a file; `out` None only counts. `of`: format, what was exported, and the columns."""
    format_, what, columns = of
    try:
        if format_ == "parquet":
            return await _clean_parquet(path, out, judge)
        return await _clean_lines(path, out, judge, lines_of(format_, what, columns))
    except ValueError as error:
        raise UserError(
            f"{path} cannot be read as its manifest says ({error})", "export it again", code="file_damaged"
        ) from error


async def _clean_lines(path: Path, out: Out | None, judge: Judge, lines: Lines) -> Cleaned:
    cleaned = Cleaned()
    with path.open("rb") as file:
        records = lines.records(file)
        if out is not None:
            out.write(lines.header())
        while some := list(islice(records, _ROWS)):
            verdicts = await judge.judge([lines.values(record) for record in some])
            cleaned.count(verdicts)
            if out is not None:
                pairs = zip(some, verdicts, strict=True)
                out.write(b"".join(lines.changed(record, each) if each else record for record, each in pairs if each is not None))
    return cleaned


async def _clean_parquet(path: Path, out: Out | None, judge: Judge) -> Cleaned:
    pa, parquet = needed("pyarrow", "Parquet"), needed("pyarrow.parquet", "Parquet")
    cleaned = Cleaned()
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            writer = None if out is None else parquet.ParquetWriter(out, schema, compression="zstd", compression_level=1)
            for batch in _batches(pa, file):
                verdicts = await judge.judge(_values(batch, judge.columns))
                cleaned.count(verdicts)
                if writer is not None:
                    writer.write_table(_changed(pa, batch, verdicts))
            if writer is not None:
                writer.close()
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    return cleaned


def _batches(pa: Any, file: Any) -> Iterator[Any]:
    """Tables of the size of the file's own row groups, as far as that is bearable."""
    for batch in file.iter_batches(50_000):
        yield pa.Table.from_batches([batch])


def _values(batch: Any, names: Sequence[str]) -> list[Mapping[str, Any]]:
    there = [name for name in names if name in batch.schema.names]
    found: list[Mapping[str, Any]] = batch.select(there).to_pylist()
    return found


def _changed(pa: Any, batch: Any, verdicts: Sequence[Changed | None]) -> Any:
    for name in sorted({name for each in verdicts if each for name in each}):
        place = batch.schema.get_field_index(name)
        old = batch.column(place).to_pylist()
        new = [each[name] if each and name in each else was for was, each in zip(old, verdicts, strict=True)]
        batch = batch.set_column(place, batch.schema.field(place), pa.array(new, batch.schema.field(place).type))
    return batch.filter(pa.array([each is not None for each in verdicts], pa.bool_()))
