"""Exported files read back as rows of plain values, whatever their format.

Rows are dicts of JSON values: times are texts in UTC with microseconds, lists are lists. CSV and
XLSX do not say which texts are lists or numbers; the types come from the Parquet file of the same
table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl
import pyarrow
import pyarrow.parquet

Row = dict[str, Any]
Types = Mapping[str, str]
"""By column: `list`, `time`, `number`, `real`, `flag`, `document` (JSON) or `text`."""

DOCUMENTS = ("poll", "emoji", "evidence", "numbers", "until_numbers", "counts")
"""Columns that hold JSON, which is a text in Parquet as well."""

_CELL = re.compile(r'"((?:[^"]|"")*)"(,|\r?\n)|([^",\r\n]*)(,|\r?\n)')
_XLSX_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_jsonl(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def read_ids(path: Path) -> list[Row]:
    return [{"id": line} for line in path.read_text("utf-8").split("\n") if line]


def read_parquet(path: Path) -> tuple[list[Row], Types]:
    table = pyarrow.parquet.read_table(path)
    types = {
        field.name: "document" if field.name in DOCUMENTS else _type(field.type)
        for field in table.schema
    }
    readers: dict[str, Callable[[Any], Any]] = {"time": _time, "document": json.loads}

    def plain(name: str, value: Any) -> Any:
        return value if value is None or types[name] not in readers else readers[types[name]](value)

    return [
        {name: plain(name, value) for name, value in row.items()} for row in table.to_pylist()
    ], types


def _type(found: pyarrow.DataType) -> str:
    kinds = {
        "list": pyarrow.types.is_list,
        "time": pyarrow.types.is_timestamp,
        "number": pyarrow.types.is_integer,
        "real": pyarrow.types.is_floating,
        "flag": pyarrow.types.is_boolean,
    }
    return next((kind for kind, is_it in kinds.items() if is_it(found)), "text")


def _time(value: Any) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def read_csv(path: Path, types: Types) -> list[Row]:
    """The rows of a CSV file: an empty cell is unknown, `""` an empty text."""
    names, *lines = _csv_lines(path.read_bytes().decode("utf-8"))
    return [
        {name: _from_csv(cell, types[name]) for name, cell in zip(names, line, strict=True)}
        for line in lines  # type: ignore[index]
    ]


def _csv_lines(text: str) -> list[list[str | None]]:
    lines: list[list[str | None]] = [[]]
    place = 0
    while place < len(text):
        found = _CELL.match(text, place)
        if found is None:
            raise ValueError(f"not CSV from character {place}: {text[place : place + 80]!r}")
        quoted, end, bare, bare_end = found.groups()
        lines[-1].append(quoted.replace('""', '"') if quoted is not None else bare or None)
        if (end or bare_end) != ",":
            lines.append([])
        place = found.end()
    return lines[:-1]


def _from_csv(cell: str | None, kind: str) -> Any:
    if cell is None:
        return None
    return _from_text(
        cell.removeprefix("'") if kind in ("text", "list", "document") else cell, kind
    )


def _from_text(text: str, kind: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {
        "list": lambda cell: [part.replace("%7C", "|") for part in cell.split("|")] if cell else [],
        "number": int,
        "real": float,
        "document": json.loads,
        "flag": lambda cell: {"true": True, "false": False, "1": True, "0": False}[cell.lower()],
    }
    return readers.get(kind, str)(text)


def read_xlsx(path: Path, types: Types) -> list[Row]:
    with closing(openpyxl.load_workbook(path, read_only=True)) as book:
        names, *lines = book.active.iter_rows(values_only=True)
    return [
        {name: _from_sheet(cell, types[name]) for name, cell in zip(names, line, strict=True)}
        for line in lines
    ]


def _from_sheet(cell: Any, kind: str) -> Any:
    if isinstance(cell, str):
        cell = _XLSX_ESCAPE.sub(lambda found: chr(int(found[1], 16)), cell)
        return _from_text(cell, kind)
    return float(cell) if kind == "real" and cell is not None else cell


def read_gexf(path: Path) -> list[Row]:
    """Nodes and edges in the form of the JSON lines of a network."""
    space = {"": "http://gexf.net/1.3"}
    root = ElementTree.parse(path).getroot()
    names = {
        attributes.get("class"): {
            each.get("id"): (each.get("title"), each.get("type")) for each in attributes
        }
        for attributes in root.iterfind("graph/attributes", space)
    }

    def values(element: ElementTree.Element, kind: str) -> Row:
        found = [
            (names[kind][each.get("for")], each.get("value"))
            for each in element.iterfind("attvalues/attvalue", space)
        ]
        return {title: _graph_value(type_, value) for (title, type_), value in found}

    nodes = [
        {"node": each.get("id"), "label": each.get("label"), **values(each, "node")}
        for each in root.iterfind("graph/nodes/node", space)
    ]
    edges = [
        {"source": each.get("source"), "target": each.get("target"), **values(each, "edge")}
        for each in root.iterfind("graph/edges/edge", space)
    ]
    return nodes + edges


def read_graphml(path: Path) -> list[Row]:
    """Nodes and edges in the form of the JSON lines of a network."""
    space = {"": "http://graphml.graphdrawing.org/xmlns"}
    root = ElementTree.parse(path).getroot()
    names = {
        each.get("id"): (each.get("attr.name"), each.get("attr.type"))
        for each in root.iterfind("key", space)
    }

    def values(element: ElementTree.Element) -> Row:
        found = [
            (names[each.get("key")], each.text or "") for each in element.iterfind("data", space)
        ]
        return {title: _graph_value(type_, value) for (title, type_), value in found}

    nodes = [
        {"node": each.get("id"), **values(each)} for each in root.iterfind("graph/node", space)
    ]
    edges = [
        {"source": each.get("source"), "target": each.get("target"), **values(each)}
        for each in root.iterfind("graph/edge", space)
    ]
    return nodes + edges


def _graph_value(kind: str | None, value: str | None) -> Any:
    return int(value) if kind in ("long", "integer", "int") and value else value
