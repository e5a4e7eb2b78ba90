"""Blocks as Arrow batches: the columns of a shape with their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bowerbird.export.needed import needed
from bowerbird.export.rows.shapes import Column, Kind, Shape
from bowerbird.reports.blocks.block import Block, Lists

_WHAT = "a table in Arrow's form"


def arrow() -> Any:
    return needed("pyarrow", _WHAT)


def schema(shape: Shape) -> Any:
    """Column names and types: texts, 64-bit numbers, UTC times in microseconds, lists of texts."""
    pa = arrow()
    return pa.schema([(column.name, _type(pa, column.kind)) for column in shape.columns])


def batch(shape: Shape, block: Block) -> Any:
    """The columns of the shape; others that the block has are left out."""
    pa = arrow()
    columns = [_column(pa, column, block.columns[column.name]) for column in shape.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema(shape))


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


def _column(pa: Any, column: Column, values: Sequence[Any] | Lists) -> Any:
    if isinstance(values, Lists):
        return pa.ListArray.from_arrays(pa.array(values.bounds, pa.int32()), _texts(pa, values.values))
    if values.count(None) == len(values):
        return pa.nulls(len(values), _type(pa, column.kind))
    if column.kind in (Kind.TEXT, Kind.DOCUMENT):
        return _texts(pa, values)
    if column.kind is Kind.FLAG:
        return pa.array(values, pa.int8()).cast(pa.bool_())
    numbers = pa.array(values, pa.float64() if column.kind is Kind.REAL else pa.int64())
    return numbers.view(_type(pa, Kind.TIME)) if column.kind is Kind.TIME else numbers


def _texts(pa: Any, values: Sequence[Any]) -> Any:
    """Stored texts are valid UTF-8, so that their bytes need not be looked at again."""
    return pa.array(values, pa.binary()).view(pa.string())
