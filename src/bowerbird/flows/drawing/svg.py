"""A flow drawn as SVG, without any other program: boxes for facets, arrows for edges, and on each arrow what it carries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import NamedTuple

from bowerbird.flows.drawing.captions import facet_lines, foot_lines
from bowerbird.flows.drawing.layout import Node, arrange, link
from bowerbird.flows.drawing.levels import facet_ranks, with_stream
from bowerbird.flows.flow import Edge, Flow, wakes
from bowerbird.model import Facet

_LETTER = 7.1
_LINE = 18.0
_MARGIN = 28.0
_HEAD = 62.0
_STYLE = """
text { font: 13px "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #22303c }
.title { font-size: 19px; font-weight: 700 } .about, .foot { fill: #5b6b79 }
.box { fill: #ffffff; stroke: #1f5fa8; stroke-width: 1.6 } .band { fill: #1f5fa8 }
.name { fill: #ffffff; font-weight: 700; font-size: 14px }
.seeds { fill: #e8a33d } .seeds-name { fill: #3a2500; font-weight: 700 }
.edge { fill: none; stroke: #6b7c8b; stroke-width: 1.6 }
.wakes { stroke: #1f5fa8; stroke-width: 2 } .seeding { stroke: #e8a33d; stroke-width: 2 }
.label { fill: #ffffff; stroke: #c9d3dc } .take { font-weight: 600 } .when { fill: #4a5a68; font-size: 12px }
"""


class _Arrow(NamedTuple):
    """One edge with the nodes it passes, in its own direction."""

    kind: str
    path: tuple[Node, ...]
    label: tuple[str, ...] = ()
    edge: Edge | None = None


class _Picture(NamedTuple):
    nodes: list[Node]
    boxes: dict[str, Node]
    arrows: list[_Arrow]


def as_svg(flow: Flow, facets: Mapping[str, Facet] | None = None) -> str:
    """The automaton as a self-contained SVG text."""
    flow = with_stream(flow)
    lines = {use.name: facet_lines(use, (facets or {}).get(use.name)) for use in flow.facets}
    picture = _picture(flow, lines)
    width, height = arrange(picture.nodes, _MARGIN, 34.0)
    feet, about = foot_lines(flow), wrap(flow.about, 90)
    head = _HEAD + _LINE * len(about)
    wide = max([width, *(len(line) * _LETTER + 2 * _MARGIN for line in [*feet, *about])])
    high = head + height - 22 + _LINE * len(feet)
    shift = (wide - width) / 2
    drawn = [*_arrows(picture), *(line for line in _boxes(picture, lines) if line)]
    return "\n".join(
        [
            _opening(flow.name, wide, high),
            f"<style>{_STYLE}</style>",
            *_markers(),
            f'<rect width="{wide:.0f}" height="{high:.0f}" fill="#f6f8fa"/>',
            _text(_MARGIN, 40, flow.name, "title", "start"),
            *(_text(_MARGIN, 64 + _LINE * number, line, "about", "start") for number, line in enumerate(about)),
            f'<g transform="translate({shift:.1f} {head - _MARGIN:.1f})">',
            *drawn,
            "</g>",
            *(_text(_MARGIN, head + height - 30 + _LINE * number, line, "foot", "start") for number, line in enumerate(feet)),
            "</svg>\n",
        ]
    )


class Counted(NamedTuple):
    """What a drawing of a crawl says beside the flow itself."""

    facets: Mapping[str, Sequence[str]]
    """By facet, lines for its box."""
    edges: Mapping[tuple[str, str], str]
    """By where an edge leads from and to, a word on its arrow; from `seeds` for the first ones."""
    states: Mapping[str, str]
    """By facet, what its box is: `busy`, `still`, `left-out`."""
    links: Mapping[str, str]
    """By facet, where a click on its box leads."""


def as_counted_svg(flow: Flow, counted: Counted) -> str:
    """The automaton with what is counted, for a page that has colours of its own: no style, no frame."""
    flow = with_stream(flow)
    lines = {use.name: list(counted.facets.get(use.name, ())) for use in flow.facets}
    picture = _picture(flow, lines, counted.edges)
    width, height = arrange(picture.nodes, 12.0, 30.0)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="automaton" {size} role="group" aria-label="crawl flow">',
            *_markers("arrow-"),
            *_arrows(picture, "arrow-"),
            *_boxes(picture, lines, counted),
            "</svg>",
        ]
    )


def _opening(name: str, wide: float, high: float) -> str:
    size = f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="crawl flow {escape(name)}">'


def _picture(flow: Flow, lines: Mapping[str, list[str]], counts: Mapping[tuple[str, str], str] | None = None) -> _Picture:
    """`counts`: words on the arrows instead of conditions."""
    ranks = facet_ranks(flow)
    boxes = {use.name: _box(use.name, lines[use.name], 2 + 2 * ranks[use.name]) for use in flow.facets}
    seeds = Node("seeds", 0, 84, 30)
    picture = _Picture([seeds, *boxes.values()], boxes, [])
    for name in flow.seeds:
        words = (counts or {}).get(("seeds", name), "")
        label = _label_node((words,)) if words else None
        path = tuple(_chain(picture, seeds, boxes[name], label))
        picture.arrows.append(_Arrow("seeding", path, (words,) if label else ()))
    for edge in flow.edges:
        picture.arrows.append(_edge_arrow(picture, edge, _edge_words(edge, counts)))
    return picture


def _box(name: str, lines: list[str], row: int) -> Node:
    longest = max([len(name) + 2, *map(len, lines)])
    return Node(name, row, max(120.0, longest * _LETTER + 32), 32 + _LINE * len(lines) + 10)


def _edge_words(edge: Edge, counts: Mapping[tuple[str, str], str] | None) -> tuple[str, ...]:
    if counts is not None:
        count = counts.get((edge.source, edge.to), "")
        return (edge.take, count) if count else (edge.take,)
    clauses = re.split(" (?=(?:and|or) )", f"when {edge.when}") if edge.when else []
    return (edge.take, *(line for clause in clauses for line in wrap(clause, 34)))


def _label_node(words: Sequence[str]) -> Node:
    return Node("", 0, max(len(word) for word in words) * _LETTER * 0.95 + 20, _LINE * len(words) + 8)


def _edge_arrow(picture: _Picture, edge: Edge, words: tuple[str, ...]) -> _Arrow:
    label = _label_node(words)
    source, to = picture.boxes[edge.source], picture.boxes[edge.to]
    if source.row < to.row:
        path = _chain(picture, source, to, label)
    else:
        path = _chain(picture, to, source, label)[::-1] if to.row < source.row else _beneath(picture, source, to, label)
    return _Arrow("wakes" if wakes(edge) else "edge", tuple(path), words, edge)


def _chain(picture: _Picture, upper: Node, lower: Node, label: Node | None) -> list[Node]:
    """The nodes from one row down to another: the label first, then a bend in every row that is only passed."""
    path = [upper]
    for row in range(upper.row + 1, lower.row):
        is_label = label is not None and row == upper.row + 1
        node = label if label is not None and is_label else Node("", row, 8, 0)
        node.row = row
        picture.nodes.append(node)
        link(path[-1], node)
        path.append(node)
    link(path[-1], lower)
    return [*path, lower]


def _beneath(picture: _Picture, source: Node, to: Node, label: Node) -> list[Node]:
    """An edge within a row, or from a box to itself, hangs below it."""
    label.row = source.row + 1
    picture.nodes.append(label)
    link(source, label)
    if to is not source:
        link(to, label)
    return [source, label, to]


def _markers(prefix: str = "") -> Iterator[str]:
    """`prefix`: of their ids, on a page that has others; its style gives them colours."""
    for kind, colour in (("edge", "#6b7c8b"), ("wakes", "#1f5fa8"), ("seeding", "#e8a33d")):
        paint = f'class="head-{kind}"' if prefix else f'fill="{colour}"'
        shape = f'<path d="M0 0 L9 4.5 L0 9 z" {paint}/>'
        size = 'markerWidth="9" markerHeight="9" refX="8" refY="4.5" markerUnits="userSpaceOnUse"'
        yield f'<defs><marker id="{prefix}{kind}" {size} orient="auto">{shape}</marker></defs>'


def _arrows(picture: _Picture, prefix: str = "") -> Iterator[str]:
    ports = _ports(picture)
    for number, arrow in enumerate(picture.arrows):
        yield f'<path class="edge {arrow.kind}" marker-end="url(#{prefix}{arrow.kind})" d="{_curve(arrow, number, ports)}"/>'
    for arrow in picture.arrows:
        if arrow.label:
            yield from _told(arrow) if prefix else _label(arrow)


def _told(arrow: _Arrow) -> Iterator[str]:
    """The label with the whole condition for those who point at it."""
    edge = arrow.edge
    words = f"{edge.source} to {edge.to}: {edge.take}{f' when {edge.when}' if edge.when else ''}" if edge else "seeds"
    yield f"<g><title>{escape(words)}</title>"
    yield from _label(arrow)
    yield "</g>"


def _ports(picture: _Picture) -> Mapping[tuple[int, bool], float]:
    """Where each arrow touches its boxes: spread along the side, in the order of where it comes from or goes to."""
    sides: dict[tuple[int, bool], list[tuple[float, int, bool]]] = {}
    for number, arrow in enumerate(picture.arrows):
        for is_end, node, other in ((False, arrow.path[0], arrow.path[1]), (True, arrow.path[-1], arrow.path[-2])):
            sides.setdefault((id(node), other.row > node.row), []).append((other.x, number, is_end))
    nodes = {id(node): node for node in picture.nodes}
    ports = {}
    for (name, _), ends in sides.items():
        room = min(nodes[name].width * 0.7, 34.0 * (len(ends) - 1))
        for place, (_, number, is_end) in enumerate(sorted(ends)):
            share = place / (len(ends) - 1) - 0.5 if len(ends) > 1 else 0.0
            ports[number, is_end] = nodes[name].x + room * share
    return ports


def _curve(arrow: _Arrow, number: int, ports: Mapping[tuple[int, bool], float]) -> str:
    """A smooth line through the labels and bends: it turns between the rows only, so it cannot cut a taller neighbour."""
    points: list[tuple[float, float]] = []
    last = len(arrow.path) - 1
    for place, node in enumerate(arrow.path):
        other = arrow.path[place + 1] if place < last else arrow.path[place - 1]
        if place in {0, last}:
            points.append((ports[number, place == last], node.bottom if other.row > node.row else node.y))
        else:
            came_down = arrow.path[place - 1].row < node.row
            goes_down = arrow.path[place + 1].row > node.row
            points.append((node.x, node.row_top if came_down else node.row_bottom))
            points.append((node.x, node.row_bottom if goes_down else node.row_top))
    start = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    return start + "".join(_bend(one, two) for one, two in pairwise(points))


def _bend(one: tuple[float, float], two: tuple[float, float]) -> str:
    middle = (one[1] + two[1]) / 2
    return f" C{one[0]:.1f} {middle:.1f} {two[0]:.1f} {middle:.1f} {two[0]:.1f} {two[1]:.1f}"


def _label(arrow: _Arrow) -> Iterator[str]:
    node = next(node for node in arrow.path[1:-1] if node.height)
    yield _rect(node, "label", 8)
    for number, word in enumerate(arrow.label):
        yield _text(node.x, node.y + 17 + _LINE * number, word, "when" if number else "take")


def _boxes(picture: _Picture, lines: Mapping[str, list[str]], counted: Counted | None = None) -> Iterator[str]:
    seeds = picture.nodes[0]
    yield _rect(seeds, "seeds", 15)
    yield _text(seeds.x, seeds.y + 20, "seeds", "seeds-name")
    for name, node in picture.boxes.items():
        opening, closing = _around(name, counted)
        yield opening
        yield from _box_of(name, node, lines[name])
        yield closing


def _around(name: str, counted: Counted | None) -> tuple[str, str]:
    """What a box stands in: nothing, or a group with its state, which may be a link."""
    if counted is None:
        return "", ""
    group = f'<g class="facet {escape(counted.states.get(name, ""))}">'
    link = counted.links.get(name)
    return (f'<a href="{escape(link)}">{group}', "</g></a>") if link else (group, "</g>")


def _box_of(name: str, node: Node, lines: Sequence[str]) -> Iterator[str]:
    left, right, top = node.x - node.width / 2, node.x + node.width / 2, node.y
    yield _rect(node, "box", 9)
    band = f"M{left:.1f} {top + 30:.1f} V{top + 9:.1f} Q{left:.1f} {top:.1f} {left + 9:.1f} {top:.1f} H{right - 9:.1f}"
    yield f'<path class="band" d="{band} Q{right:.1f} {top:.1f} {right:.1f} {top + 9:.1f} V{top + 30:.1f} z"/>'
    yield _text(node.x, top + 20, name, "name")
    for number, line in enumerate(lines):
        yield _text(node.x, top + 49 + _LINE * number, line, "line")


def _rect(node: Node, kind: str, radius: float) -> str:
    place = f'x="{node.x - node.width / 2:.1f}" y="{node.y:.1f}" width="{node.width:.1f}" height="{node.height:.1f}"'
    return f'<rect class="{kind}" {place} rx="{radius:g}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
