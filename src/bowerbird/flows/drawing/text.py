"""A flow drawn with characters: one box per facet from the seeds down, one arc per edge at the right, and what the arcs carry.

Where there are very many edges, those that carry the same from one box to several others share an arc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bowerbird.flows.drawing.captions import edge_words, facet_lines, foot_lines
from bowerbird.flows.drawing.levels import facet_ranks, with_stream
from bowerbird.flows.flow import Edge, Flow
from bowerbird.model import Facet

_SEEDS = "seeds ──▶ "
_COLUMN = 4
_MOST_SINGLE = 12
"""More edges than these are drawn in bundles."""


class _Arc(NamedTuple):
    """One edge, or several that differ only in where they lead."""

    edge: Edge
    to: tuple[str, ...]


class _Box(NamedTuple):
    name: str
    top: int
    lines: list[str]
    ports: list[tuple[int, bool]]
    """Number of the arc, and whether it leaves here; one row each."""

    @property
    def height(self) -> int:
        return max(len(self.lines), len(self.ports))


def as_text(flow: Flow, facets: Mapping[str, Facet] | None = None) -> str:
    """The automaton for a terminal; loops and returns are arcs like any other."""
    flow = with_stream(flow)
    order = [name for name, _ in sorted(facet_ranks(flow).items(), key=lambda item: item[1])]
    arcs = _arcs(flow)
    boxes = _boxes(flow, arcs, order, facets or {})
    width = max(len(line) for box in boxes for line in box.lines) + 2
    grid = _Grid(len(_SEEDS) + width + 2 + _COLUMN * (len(arcs) + 2), boxes[-1].top + boxes[-1].height + 2)
    for box in boxes:
        _draw_box(grid, box, width, box.name in flow.seeds)
    _draw_arcs(grid, boxes, len(_SEEDS) + width + 1)
    parts = [
        f"{flow.name}: {flow.about}".rstrip(": "),
        grid.text(),
        _legend(arcs),
        "\n".join(f"  {line}" for line in foot_lines(flow)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _arcs(flow: Flow) -> list[_Arc]:
    arcs: dict[tuple[object, ...], _Arc] = {}
    for number, edge in enumerate(flow.edges):
        alike = (edge.source, edge.take, edge.when, edge.wakes, edge.optional, edge.instead)
        bundle = arcs.get(alike)
        if bundle is None or edge.to in bundle.to or len(flow.edges) <= _MOST_SINGLE:
            arcs[alike if len(flow.edges) > _MOST_SINGLE and bundle is None else (number,)] = _Arc(edge, (edge.to,))
        else:
            arcs[alike] = _Arc(bundle.edge, (*bundle.to, edge.to))
    return list(arcs.values())


def _boxes(flow: Flow, arcs: Sequence[_Arc], order: Sequence[str], facets: Mapping[str, Facet]) -> list[_Box]:
    place = {name: number for number, name in enumerate(order)}
    boxes: list[_Box] = []
    for name in order:
        lines = [name, *facet_lines(flow.facet(name), facets.get(name))]
        top = boxes[-1].top + boxes[-1].height + 2 if boxes else 0
        boxes.append(_Box(name, top, lines, _ports(arcs, name, place)))
    return boxes


def _ports(arcs: Sequence[_Arc], name: str, place: Mapping[str, int]) -> list[tuple[int, bool]]:
    """Ends of arcs at one box. Short arcs lie inside long ones: upward ends go short to long, downward ends long to short."""
    ends: list[tuple[int, int, bool]] = []
    for number, arc in enumerate(arcs):
        source = place[arc.edge.source]
        if arc.edge.source == name:
            ends.append((max((place[to] - source for to in arc.to), key=abs), number, True))
        if name in arc.to:
            ends.append((source - place[name], number, False))
    upward = sorted((end for end in ends if end[0] < 0), key=lambda end: (-end[0], end[1]))
    downward = sorted((end for end in ends if end[0] >= 0), key=lambda end: (-end[0], end[1]))
    return [(number, is_out) for _, number, is_out in upward + downward]


def _draw_box(grid: _Grid, box: _Box, width: int, is_seeded: bool) -> None:
    left = len(_SEEDS)
    grid.write(box.top, left, "┌" + "─" * width + "┐")
    for row in range(box.height):
        line = box.lines[row] if row < len(box.lines) else ""
        grid.write(box.top + 1 + row, left, "│ " + line.ljust(width - 1) + "│")
    grid.write(box.top + 1 + box.height, left, "└" + "─" * width + "┘")
    if is_seeded:
        grid.write(box.top + 1, 0, _SEEDS)


def _draw_arcs(grid: _Grid, boxes: list[_Box], wall: int) -> None:
    rows: dict[int, dict[int, bool]] = {}
    for box in boxes:
        for row, (number, is_out) in enumerate(box.ports):
            rows.setdefault(number, {})[box.top + 1 + row] = is_out
    taken: list[list[tuple[int, int]]] = []
    for number, ends in sorted(rows.items(), key=lambda item: max(item[1]) - min(item[1])):
        column = _free_column(taken, min(ends), max(ends))
        grid.arc(ends, wall, wall + _COLUMN * (column + 1) + 1, str(number + 1))


def _free_column(taken: list[list[tuple[int, int]]], first: int, last: int) -> int:
    for column, spans in enumerate(taken):
        if all(last < start or first > end for start, end in spans):
            spans.append((first, last))
            return column
    taken.append([(first, last)])
    return len(taken) - 1


def _legend(arcs: Sequence[_Arc]) -> str:
    names = [f"{arc.edge.source} → {', '.join(arc.to)}" for arc in arcs]
    width = max(map(len, names), default=0)
    return "\n".join(
        f"  {number:<2} {name.ljust(width)}  {edge_words(arc.edge)}"
        for number, (name, arc) in enumerate(zip(names, arcs, strict=True), 1)
    )


class _Grid:
    """Characters on a page, with lines that cross each other properly."""

    def __init__(self, width: int, height: int) -> None:
        self._rows = [[" "] * width for _ in range(height)]

    def write(self, row: int, column: int, text: str) -> None:
        self._rows[row][column : column + len(text)] = text

    def arc(self, ends: Mapping[int, bool], wall: int, column: int, label: str) -> None:
        """From the row where it leaves to the rows where it arrives, by way of one column."""
        for row, is_out in ends.items():
            self._line(row, wall + 1, column)
            self.write(row, wall, "├" if is_out else "│")
            self.write(row, wall + 1, f"─{label}" if is_out else "◀")
        first, last = min(ends), max(ends)
        for row in range(first + 1, last):
            self._rows[row][column] = "┤" if row in ends else "┼" if self._rows[row][column] in "─┼" else "│"
        self._rows[first][column], self._rows[last][column] = "┐", "┘"

    def _line(self, row: int, start: int, end: int) -> None:
        for column in range(start, end):
            self._rows[row][column] = "┼" if self._rows[row][column] in "│┼" else "─"

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self._rows)
