"""Blocks as rows of plain values, for formats that are written row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bowerbird.export.rows.shapes import Column, Kind, Row, Shape
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Column as Packed
from bowerbird.reports.blocks.columns import Lists


def rows(shape: Shape, block: Block) -> Iterator[Row]:
    """Tuples in the order of the shape's columns; times are texts already."""
    return zip(*(_column(column, block.columns[column.name]) for column in shape.columns), strict=True)


def told_times(micros: Sequence[int | None]) -> list[str | None]:
    """`2026-01-05T12:00:00.000000Z`, as `cells.told_time` tells it."""
    known = [0 if each is None else each for each in micros]
    texts = np.datetime_as_string(np.array(known, dtype="datetime64[us]"), unit="us").tolist()
    return [None if each is None else f"{text}Z" for each, text in zip(micros, texts, strict=True)]


def _column(column: Column, packed: Packed) -> Sequence[Any]:
    values: list[Any] = packed.listed()
    if isinstance(packed, Lists):
        return [tuple(map(_text, each)) for each in values]
    if column.kind is Kind.TIME:
        return told_times(values)
    if column.kind is Kind.FLAG:
        return [None if value is None else bool(value) for value in values]
    if column.kind in (Kind.TEXT, Kind.DOCUMENT):
        return [None if value is None else _text(value) for value in values]
    return values


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
