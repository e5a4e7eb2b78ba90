"""Rows into files that are written in one go: Parquet and workbooks, which nothing can be added to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.export.jobs.destinations import Folder
from bowerbird.export.jobs.sinks import ParquetSink, Sink, XlsxSink
from bowerbird.export.rows.shapes import Column, Kind, Row, Shape
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Column as Packed
from bowerbird.reports.blocks.columns import Lists, Numbers, Texts


class _Made(Protocol):
    def __call__(self, destination: Folder, name: Any, shape: Shape) -> Sink: ...


_SINKS: dict[str, _Made] = {"parquet": ParquetSink, "xlsx": XlsxSink}


async def write_whole(path: Path, format_: str, shape: Shape, batches: AsyncIterator[Sequence[Row]]) -> int:
    """Writes all rows and says how many; the file is there when it is whole. Raises `UserError` where it cannot hold them."""
    sink = _SINKS[format_](Folder(path.parent), lambda: path.name, shape)
    written = 0
    try:
        sink.write(Block(0, {}, (), ()))
        async for rows in batches:
            written += len(rows)
            if sink.most is not None and written > sink.most:
                raise UserError(
                    f"a sheet holds {sink.most:,} rows, and there are more", "write CSV or Parquet", code="unsupported"
                )
            if rows:
                sink.write(_block(shape, rows))
    except BaseException:
        sink.leave()
        Folder(path.parent).local(path.name).unlink(missing_ok=True)
        raise
    sink.finish()
    return written


def _block(shape: Shape, rows: Sequence[Row]) -> Block:
    columns = zip(*rows, strict=True)
    packed = {each.name: _packed(each, values) for each, values in zip(shape.columns, columns, strict=True)}
    return Block(len(rows), packed, (), ())


def _packed(column: Column, values: Sequence[Any]) -> Packed:
    match column.kind:
        case Kind.LIST:
            return Lists.of([() if value is None else [str(part) for part in value] for value in values])
        case Kind.TIME:
            return Numbers.of([to_micros(value) if isinstance(value, datetime) else None for value in values])
        case Kind.NUMBER | Kind.FLAG | Kind.REAL:
            return Numbers.of(values, are_whole=column.kind is not Kind.REAL)
        case _:
            return Texts.of([None if value is None else str(value).encode("utf-8", "replace") for value in values])
