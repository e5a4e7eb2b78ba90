"""`bowerbird query`: SQL over what a store holds, or over a folder of exported Parquet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.querying.duck import ask, exported, folder_for, named_tables, opened, written
from bowerbird.export.rows.files import open_rows
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.rows.shapes import Column, Shape

_SHOWN = 50
_BATCH = 1_000
_LONGEST = 80


def command(
    sql: Annotated[str, typer.Argument(metavar="SQL", help=f"One statement that reads; tables: {', '.join(SHAPES)}.")],
    place: Annotated[
        str | None, typer.Argument(metavar="[FILE|DATABASE|FOLDER]", help="A crawl file, its database, or exported Parquet.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write all rows to a new .csv or .jsonl file.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="csv or jsonl on standard output, or for a file whose name does not say.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Rows to show; files have all.")] = _SHOWN,
    as_json: JsonFlag = False,
) -> None:
    """Ask a store with SQL (DuckDB). It only reads, and reaches nothing but these tables.

    Tables have the columns of `export`. Nothing that was deleted is in them.
    """
    output = Output(as_json=as_json)
    with folder_for() as folder, opened(_tables(sql, place, folder)) as connection:
        names, rows = ask(connection, sql)
        if out is not None or format_ is not None:
            count = _write(names, rows, out, format_)
            if out is not None:
                output.line(f"{numbers.many(count, 'row')} are in {out}.")
                output.result({"columns": names, "rows": count, "out": out})
            return
        _show(output, names, rows, top)


def _tables(sql: str, place: str | None, folder: Path) -> dict[str, str]:
    if place is not None and (Path(place).is_dir() or place.endswith(".parquet")):
        return exported(Path(place))
    found, tables = find_store(place), named_tables(sql)

    async def write() -> dict[str, str]:
        async with read_store(found, RealClock()) as database:
            return await written(database, tables, folder, RealClock())

    return asyncio.run(write())


def _write(names: Sequence[str], rows: Iterator[Sequence[Any]], out: Path | None, format_: str | None) -> int:
    if format_ not in (None, "csv", "jsonl"):
        raise UserError(f"there is no format {format_!r} here", "there are: csv, jsonl", code="unknown_format")
    with open_rows(out, Shape("rows", tuple(Column(name) for name in names)), format=format_) as file:
        while batch := list(islice(rows, _BATCH)):
            file.write(tuple(map(_plain, row)) for row in batch)
        return file.rows


def _show(output: Output, names: Sequence[str], rows: Iterator[Sequence[Any]], top: int) -> None:
    shown = list(islice(rows, top + 1))
    output.table("", names, [[_short(value) for value in row] for row in shown[:top]])
    if len(shown) > top:
        output.line("… and more; --top shows more of them, --out writes all.")
    told = [dict(zip(names, map(_plain, row), strict=True)) for row in shown[:top]]
    output.result({"columns": list(names), "rows": told, "is_whole": len(shown) <= top})


def _plain(value: Any) -> Any:
    """What JSON and CSV can hold."""
    if value is None or isinstance(value, str | int | float) or hasattr(value, "tzinfo"):
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else str(value)


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
