"""Arrow batches as CSV, as `rows/files.py` writes it row by row: texts in quotes and safe for spreadsheets, times in UTC."""

from __future__ import annotations

from typing import Any

import numpy as np

from bowerbird.export.needed import needed
from bowerbird.export.rows.cells import SEPARATOR, UNSAFE
from bowerbird.export.rows.shapes import Column, Kind, Shape
from bowerbird.export.tables.arrow import arrow, batch
from bowerbird.reports.blocks.block import Block

_SUSPECTS = np.zeros(256, dtype=bool)
"""First bytes of texts that `UNSAFE` may match: blanks, signs, and those with which the signs of full width begin."""
_SUSPECTS[[*range(0x21), *b"=+-@'", 0xC2, 0xEF]] = True
_WIDTH = len("2026-01-05 12:00:00.000000")


def csv(shape: Shape, block: Block) -> bytes:
    """The rows of a block."""
    pa, pc, written = arrow(), needed("pyarrow.compute", "CSV"), needed("pyarrow.csv", "CSV")
    whole = batch(shape, block)
    columns = [_column(pa, pc, column, whole.column(n)) for n, column in enumerate(shape.columns)]
    buffer = pa.BufferOutputStream()
    table = pa.RecordBatch.from_arrays(columns, names=list(shape.names))
    written.write_csv(table, buffer, written.WriteOptions(include_header=False))
    return buffer.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _column(pa: Any, pc: Any, column: Column, values: Any) -> Any:
    if column.kind is Kind.TIME:
        return told_times(pa, pc, values)
    if column.kind is Kind.LIST:
        return _safe(pa, pc, _joined(pa, pc, values))
    return _safe(pa, pc, values) if column.kind in (Kind.TEXT, Kind.DOCUMENT) else values


def _joined(pa: Any, pc: Any, lists: Any) -> Any:
    if not len(lists.values):
        return pa.array([""] * len(lists), pa.string())
    parts = pc.replace_substring(lists.values, SEPARATOR, "%7C")
    return pc.binary_join(pa.ListArray.from_arrays(lists.offsets, parts), SEPARATOR)


def _safe(pa: Any, pc: Any, texts: Any) -> Any:
    """Only where the first byte of a text is suspicious the rest is looked at."""
    if texts.null_count == len(texts) or not _has_suspects(texts):
        return texts
    is_unsafe = pc.fill_null(pc.match_substring_regex(texts, UNSAFE), False)
    return pc.if_else(is_unsafe, pc.binary_join_element_wise("'", texts, ""), texts)


def _has_suspects(texts: Any) -> bool:
    _, offsets, content = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    begun = starts[:-1][starts[:-1] < starts[1:]]
    return bool(len(begun)) and bool(_SUSPECTS[np.frombuffer(content, dtype=np.uint8)[begun]].any())


def told_times(pa: Any, pc: Any, times: Any) -> Any:
    """`2026-01-05T12:00:00.000000Z`: Arrow's own text with two other signs, put there for all rows at once."""
    if times.null_count == len(times):
        return pa.nulls(len(times), pa.string())
    spelt = times.cast(pa.int64()).fill_null(0).cast(pa.timestamp("us")).cast(pa.string())
    content = np.frombuffer(spelt.buffers()[2], dtype=np.uint8)
    if len(content) < _WIDTH * len(times) or pc.max(pc.binary_length(spelt)).as_py() != _WIDTH:
        return _one_by_one(pa, times)
    told = np.empty((len(times), _WIDTH + 1), dtype=np.uint8)
    told[:, :_WIDTH] = content[: _WIDTH * len(times)].reshape(len(times), _WIDTH)
    told[:, 10], told[:, _WIDTH] = ord("T"), ord("Z")
    bounds = np.arange(0, (len(times) + 1) * (_WIDTH + 1), _WIDTH + 1, dtype=np.int32)
    texts = pa.StringArray.from_buffers(len(times), pa.py_buffer(bounds), pa.py_buffer(told.tobytes()))
    return pc.if_else(times.is_valid(), texts, None) if times.null_count else texts


def _one_by_one(pa: Any, times: Any) -> Any:
    """Years of more or fewer than four digits."""
    from bowerbird.export.tables.plain import told_times as plain_times

    return pa.array(plain_times(times.cast(pa.int64()).to_pylist()), pa.string())
