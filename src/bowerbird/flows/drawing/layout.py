"""Places for a layered drawing: rows from the seeds down, and between them a row for what the edges carry.

Labels are nodes like the boxes are, so nothing can overlap: each edge is a chain of nodes, one per row it passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP = 28.0
_ROUNDS = 24


@dataclass
class Node:
    """A box, a label or a bend; `x` is its middle and `y` its top."""

    name: str
    row: int
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    row_top: float = 0.0
    row_bottom: float = 0.0
    above: list[Node] = field(default_factory=list, repr=False)
    below: list[Node] = field(default_factory=list, repr=False)

    @property
    def bottom(self) -> float:
        return self.y + self.height


def link(upper: Node, lower: Node) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def arrange(nodes: Sequence[Node], margin: float, row_gap: float) -> tuple[float, float]:
    """Gives every node its place and says how wide and high the whole is."""
    rows = [[node for node in nodes if node.row == row] for row in sorted({node.row for node in nodes})]
    _order(rows)
    _spread(rows)
    _stack(rows, margin, row_gap)
    left = min(node.x - node.width / 2 for node in nodes) - margin
    for node in nodes:
        node.x -= left
    return max(node.x + node.width / 2 for node in nodes) + margin, max(node.bottom for node in nodes) + margin


def _order(rows: list[list[Node]]) -> None:
    """Sorts each row by the mean place of its neighbours, down and up again, which undoes most crossings."""
    for round_no in range(_ROUNDS):
        is_down = round_no % 2 == 0
        for row in rows if is_down else reversed(rows):
            place = _places(rows)
            row.sort(
                key=lambda node: _mean([place[id(other)] for other in (node.above if is_down else node.below)], place[id(node)])
            )


def _places(rows: list[list[Node]]) -> Mapping[int, float]:
    return {id(node): (number + 0.5) / len(row) for row in rows for number, node in enumerate(row)}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _spread(rows: list[list[Node]]) -> None:
    for row in rows:
        _apart(row, [0.0] * len(row))
    for round_no in range(_ROUNDS):
        for row in rows if round_no % 2 else reversed(rows):
            _apart(row, [_mean([other.x for other in node.above + node.below], node.x) for node in row])


def _apart(row: list[Node], wanted: list[float]) -> None:
    """The places nearest to the wanted ones (least squares) that keep order and distance; who collides moves as one block."""
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + GAP)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, members = blocks.pop()
            total, count = total + before, count + members
        blocks.append((total, count))
    starts = [total / count for total, count in blocks for _ in range(count)]
    for node, start, offset in zip(row, starts, offsets, strict=True):
        node.x = start + offset


def _stack(rows: list[list[Node]], margin: float, row_gap: float) -> None:
    y = margin
    for row in rows:
        height = max((node.height for node in row), default=0.0)
        for node in row:
            node.y = y + (height - node.height) / 2
            node.row_top, node.row_bottom = y, y + height
        y += height + row_gap
