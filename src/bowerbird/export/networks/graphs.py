"""Graphs as files: GEXF (Gephi), GraphML (igraph, networkx, yEd) and JSON lines, by the ending of the name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError

Value = str | int | float | None
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""
_XML = '<?xml version="1.0" encoding="UTF-8"?>'


class Node(Struct, frozen=True):
    id: str
    label: str
    values: dict[str, Value]


class Arc(Struct, frozen=True):
    """A directed edge between two nodes, by their ids; two nodes may have several."""

    source: str
    target: str
    values: dict[str, Value]


class Form(Protocol):
    """One format: lines that come before, for and after nodes and edges, so that a graph need not be in memory."""

    def __init__(self, columns: Columns) -> None: ...

    def opening(self) -> Iterator[str]: ...

    def node(self, node: Node) -> str: ...

    def middle(self) -> str:
        """Between nodes and edges."""
        ...

    def arc(self, arc: Arc) -> str: ...

    def closing(self) -> str: ...


class Columns(Struct, frozen=True):
    """Names and kinds of what nodes and edges have besides their ids."""

    nodes: Mapping[str, type]
    arcs: Mapping[str, type]
    is_directed: bool = True


def write_graph(path: Path, nodes: Sequence[Node], arcs: Sequence[Arc]) -> None:
    """Writes a new file; raises `UserError` for an ending that is not known or a file that exists."""
    form = form_of(path)(Columns(_columns(nodes), _columns(arcs)))
    lines = chain(form.opening(), map(form.node, nodes), [form.middle()], map(form.arc, arcs), [form.closing()])
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines if line)
    except FileExistsError:
        raise UserError(
            f"{path} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
        ) from None
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}", "choose another place.", code="file_unwritable") from None


def check_name(path: Path) -> None:
    """Raises `UserError` at once for what `write_graph` would refuse later."""
    form_of(path)
    if path.exists():
        raise UserError(
            f"{path} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
        )


def form_of(path: Path) -> type[Form]:
    """By the ending of the name."""
    form = _FORMS.get(path.suffix.lower())
    if form is None:
        raise UserError(
            f"{path}: graphs are written as {', '.join(_FORMS)}", "choose one of these endings", code="unknown_format"
        )
    return form


def _plain(text: str) -> str:
    return _UNFIT.sub("�", text)


def _quoted(text: object) -> str:
    # It brings half of the web with it, which those who write no graph need not wait for.
    from xml.sax.saxutils import quoteattr

    return quoteattr(_plain(str(text)))


def _columns(items: Iterable[Node | Arc]) -> dict[str, type]:
    """Names and kinds of the values that occur, in the order of their first use."""
    kinds: dict[str, type] = {}
    for item in items:
        for name, value in item.values.items():
            if value is not None:
                kinds[name] = type(value) if kinds.get(name, type(value)) is type(value) else str
    return kinds


def _told(values: Mapping[str, Value], columns: Mapping[str, type]) -> Iterator[tuple[int, Value]]:
    return ((place, values[name]) for place, name in enumerate(columns) if values.get(name) is not None)


_KINDS = {str: "string", int: "long", float: "double"}


class _Gexf:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._arcs = 0

    def opening(self) -> Iterator[str]:
        yield _XML
        yield '<gexf xmlns="http://gexf.net/1.3" version="1.3">'
        yield f'<graph defaultedgetype="{_directed(self._columns)}">'
        for name, columns in (("node", self._columns.nodes), ("edge", self._columns.arcs)):
            yield f'<attributes class="{name}">'
            for place, (title, kind) in enumerate(columns.items()):
                yield f'<attribute id="{place}" title={_quoted(title)} type="{_KINDS[kind]}"/>'
            yield "</attributes>"
        yield "<nodes>"

    def node(self, node: Node) -> str:
        values = _gexf_values(node.values, self._columns.nodes)
        return f"<node id={_quoted(node.id)} label={_quoted(node.label)}>{values}</node>"

    def middle(self) -> str:
        return "</nodes>\n<edges>"

    def arc(self, arc: Arc) -> str:
        ends = f'id="{self._arcs}" source={_quoted(arc.source)} target={_quoted(arc.target)}'
        self._arcs += 1
        return f"<edge {ends}>{_gexf_values(arc.values, self._columns.arcs)}</edge>"

    def closing(self) -> str:
        return "</edges></graph></gexf>"


def _directed(columns: Columns) -> str:
    return "directed" if columns.is_directed else "undirected"


def _gexf_values(values: Mapping[str, Value], columns: Mapping[str, type]) -> str:
    told = "".join(f'<attvalue for="{place}" value={_quoted(value)}/>' for place, value in _told(values, columns))
    return f"<attvalues>{told}</attvalues>" if told else ""


class _Graphml:
    def __init__(self, columns: Columns) -> None:
        self._nodes = {"label": str, **columns.nodes}
        self._columns = columns

    def opening(self) -> Iterator[str]:
        yield _XML
        yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        for name, columns in (("node", self._nodes), ("edge", self._columns.arcs)):
            for place, (title, kind) in enumerate(columns.items()):
                yield f'<key id="{name}{place}" for="{name}" attr.name={_quoted(title)} attr.type="{_KINDS[kind]}"/>'
        yield f'<graph edgedefault="{_directed(self._columns)}">'

    def node(self, node: Node) -> str:
        values = _graphml_values("node", {"label": node.label, **node.values}, self._nodes)
        return f"<node id={_quoted(node.id)}>{values}</node>"

    def middle(self) -> str:
        return ""

    def arc(self, arc: Arc) -> str:
        values = _graphml_values("edge", arc.values, self._columns.arcs)
        return f"<edge source={_quoted(arc.source)} target={_quoted(arc.target)}>{values}</edge>"

    def closing(self) -> str:
        return "</graph></graphml>"


def _graphml_values(name: str, values: Mapping[str, Value], columns: Mapping[str, type]) -> str:
    from xml.sax.saxutils import escape

    return "".join(f'<data key="{name}{place}">{escape(_plain(str(value)))}</data>' for place, value in _told(values, columns))


class _Jsonl:
    def __init__(self, columns: Columns) -> None:
        del columns

    def opening(self) -> Iterator[str]:
        return iter(())

    def node(self, node: Node) -> str:
        return msgspec.json.encode({"node": node.id, "label": node.label, **node.values}).decode()

    def middle(self) -> str:
        return ""

    def arc(self, arc: Arc) -> str:
        return msgspec.json.encode({"source": arc.source, "target": arc.target, **arc.values}).decode()

    def closing(self) -> str:
        return ""


_FORMS: dict[str, type[Form]] = {".gexf": _Gexf, ".graphml": _Graphml, ".jsonl": _Jsonl}
