"""Parquet by day: `day=2026-01-05/posts-0001.parquet`, as DuckDB, polars, pandas and Spark read it (Hive's way of naming).

Rows come in the order in which they were stored, and so of many days at once: they wait by day until there are many, then those
of the fullest days are written. Memory holds a fixed number of rows, and a fixed number of files is open.
"""

from __future__ import annotations

from typing import Any

from bowerbird.export.jobs.destinations import Destination, Finished
from bowerbird.export.jobs.sinks import Name, ParquetSink
from bowerbird.export.needed import needed
from bowerbird.export.rows.shapes import Kind, Shape
from bowerbird.export.tables.arrow import batch
from bowerbird.reports.blocks.block import Block

_WAITING = 200_000
_OPEN = 200
_TIMELESS = "unknown"


class DaySink:
    """Implements `Sink` over a file for each day."""

    most: int | None = None

    def __init__(self, destination: Destination, name: Name, shape: Shape) -> None:
        self._destination = destination
        self._name = name
        self._shape = shape
        self._column = next(column.name for column in shape.columns if column.kind is Kind.TIME)
        self._days: dict[str, ParquetSink] = {}
        self._done: list[Finished] = []
        self._file = ""

    def write(self, block: Block) -> None:
        for day, rows in self._by_day(batch(self._shape, block)) if block.rows else ():
            self._of(day).add(rows)
        while sum(sink.waiting for sink in self._days.values()) > _WAITING:
            max(self._days.values(), key=lambda sink: sink.waiting).flush()

    def finish(self) -> list[Finished]:
        for sink in self._days.values():
            self._done += sink.finish()
        done, self._done, self._days, self._file = self._done, [], {}, ""
        return done

    def growing(self) -> tuple[str, int, int] | None:
        return None

    def leave(self) -> None:
        for sink in self._days.values():
            sink.leave()

    def _of(self, day: str) -> ParquetSink:
        if day not in self._days:
            if len(self._days) >= _OPEN:
                # The one that was begun first: crawls bring the days more or less in their order.
                self._done += self._days.pop(next(iter(self._days))).finish()
                self._file = ""
            self._file = self._file or self._name()
            name = f"day={day}/{self._file}"
            self._days[day] = ParquetSink(self._destination, lambda: name, self._shape)
        return self._days[day]

    def _by_day(self, rows: Any) -> list[tuple[str, Any]]:
        pa, pc = needed("pyarrow", "Parquet"), needed("pyarrow.compute", "Parquet")
        days = rows.column(self._column).cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
        order = pc.sort_indices(days)
        ordered, days = rows.take(order), days.take(order)
        ends = pc.run_end_encode(days)
        found, start = [], 0
        for end, day in zip(ends.run_ends.to_pylist(), ends.values.to_pylist(), strict=True):
            found.append((_TIMELESS if day is None else day.isoformat(), ordered.slice(start, end - start)))
            start = end
        return found
