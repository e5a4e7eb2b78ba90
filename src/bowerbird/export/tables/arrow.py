"""Blocks as Arrow batches: the columns of a shape with their types. Packed columns are taken as they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from bowerbird.export.needed import needed
from bowerbird.export.rows.shapes import Kind, Shape
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Array, Column, Lists, Numbers, Repeated, Texts

_WHAT = "a table in Arrow's form"


def arrow() -> Any:
    return needed("pyarrow", _WHAT)


def schema(shape: Shape) -> Any:
    """Column names and types: texts, 64-bit numbers, UTC times in microseconds, lists of texts."""
    pa = arrow()
    return pa.schema([(column.name, _type(pa, column.kind)) for column in shape.columns])


def batch(shape: Shape, block: Block) -> Any:
    """The columns of the shape; others that the block has are left out."""
    pa, types = arrow(), schema(shape)
    columns = [_column(pa, kind, block.columns[name]) for name, kind in zip(types.names, types.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=types)


def nothing(of: Any) -> Any:
    """No rows of a schema."""
    return arrow().RecordBatch.from_pylist([], of)


def _type(pa: Any, kind: Kind) -> Any:
    return {
        Kind.TEXT: pa.string(),
        Kind.DOCUMENT: pa.string(),
        Kind.NUMBER: pa.int64(),
        Kind.REAL: pa.float64(),
        Kind.FLAG: pa.bool_(),
        Kind.TIME: pa.timestamp("us", tz="UTC"),
        Kind.LIST: pa.list_(pa.string()),
    }[kind]


def _column(pa: Any, kind: Any, column: Column) -> Any:
    if isinstance(column, Lists):
        return pa.ListArray.from_arrays(_plain(pa, pa.int32(), column.bounds), _texts(pa, column.texts))
    if isinstance(column, Repeated):
        return _texts(pa, Texts.of(column.texts)).take(_plain(pa, pa.int64(), column.places))
    if column.known is not None and not column.known.any():
        return pa.nulls(len(column), kind)
    return _numbers(pa, kind, column) if isinstance(column, Numbers) else _texts(pa, column)


def _numbers(pa: Any, kind: Any, numbers: Numbers) -> Any:
    values = np.packbits(numbers.values != 0, bitorder="little") if kind == pa.bool_() else numbers.values
    return pa.Array.from_buffers(kind, len(numbers), [_known(pa, numbers.known), pa.py_buffer(values)])


def _texts(pa: Any, texts: Texts) -> Any:
    """Stored texts are valid UTF-8, so that their bytes need not be looked at again."""
    content = pa.py_buffer(texts.content)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(texts.bounds), content, _known(pa, texts.known))


def _plain(pa: Any, kind: Any, values: Array) -> Any:
    # Not `pa.array`: that looks for pandas first, which takes a second to load where it is installed.
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _known(pa: Any, known: Array | None) -> Any:
    return None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))
