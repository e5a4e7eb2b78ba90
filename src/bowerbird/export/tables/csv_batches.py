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
        return _texts(pa, np.zeros(len(lists) + 1, np.int32), b"")
    parts = pc.replace_substring(lists.values, SEPARATOR, "%7C")
    return pc.binary_join(pa.ListArray.from_arrays(lists.offsets, parts), _text(pa, SEPARATOR))


def _texts(pa: Any, bounds: Any, content: bytes, known: Any = None) -> Any:
    return pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(content), known)


def _text(pa: Any, text: str) -> Any:
    """One text for all rows. Not `pa.scalar`: that looks for pandas first, which takes a second to load where it is installed."""
    return _texts(pa, np.array([0, len(text.encode())], np.int32), text.encode())[0]


def _safe(pa: Any, pc: Any, texts: Any) -> Any:
    """Only where the first byte of a text is suspicious the rest is looked at."""
    if texts.null_count == len(texts):
        return texts
    suspects = _suspects(texts)
    if not len(suspects):
        return texts
    told = texts.take(pa.Array.from_buffers(pa.int64(), len(suspects), [None, pa.py_buffer(suspects)]))
    is_unsafe = pc.match_substring_regex(told, UNSAFE)
    unsafe = np.zeros(len(texts), bool)
    unsafe[suspects] = np.unpackbits(np.frombuffer(is_unsafe.buffers()[1], np.uint8), count=len(suspects), bitorder="little")
    mask = pa.Array.from_buffers(pa.bool_(), len(texts), [None, pa.py_buffer(np.packbits(unsafe, bitorder="little"))])
    return pc.replace_with_mask(texts, mask, pc.binary_join_element_wise(_text(pa, "'"), told.filter(is_unsafe), _text(pa, "")))


def _suspects(texts: Any) -> Any:
    """The places of texts that begin with a suspicious byte."""
    _, offsets, content = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    begun = np.flatnonzero(bounds[:-1] < bounds[1:])
    return begun[_SUSPECTS[np.frombuffer(content, dtype=np.uint8)[bounds[begun]]]] if len(begun) else begun


def told_times(pa: Any, pc: Any, times: Any) -> Any:
    """`2026-01-05T12:00:00.000000Z`: Arrow's own text with two other signs, put there for all rows at once. Times that are not
    known are 0 below, as `Numbers` has them."""
    if times.null_count == len(times):
        return pa.nulls(len(times), pa.string())
    known, micros = times.buffers()
    spelt = pa.Array.from_buffers(pa.timestamp("us"), len(times), [None, micros]).cast(pa.string())
    content = np.frombuffer(spelt.buffers()[2], dtype=np.uint8)
    if len(content) < _WIDTH * len(times) or pc.max(pc.binary_length(spelt)).as_py() != _WIDTH:
        return _one_by_one(pa, times)
    told = np.empty((len(times), _WIDTH + 1), dtype=np.uint8)
    told[:, :_WIDTH] = content[: _WIDTH * len(times)].reshape(len(times), _WIDTH)
    told[:, 10], told[:, _WIDTH] = ord("T"), ord("Z")
    bounds = np.arange(0, (len(times) + 1) * (_WIDTH + 1), _WIDTH + 1, dtype=np.int32)
    return _texts(pa, bounds, told.tobytes(), known)


def _one_by_one(pa: Any, times: Any) -> Any:
    """Years of more or fewer than four digits."""
    from bowerbird.export.tables.plain import told_times as plain_times

    return pa.array(plain_times(times.cast(pa.int64()).to_pylist()), pa.string())
