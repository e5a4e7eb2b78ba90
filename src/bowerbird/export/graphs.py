"""Graphs as files: GEXF (Gephi), GraphML (igraph, networkx, yEd) and JSON lines, by the ending of the name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

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


def write_graph(path: Path, nodes: Sequence[Node], arcs: Sequence[Arc], *, is_directed: bool = True) -> None:
    """Writes a new file; raises `UserError` for an ending that is not known or a file that exists."""
    lines = _format(path)(nodes, arcs)
    if not is_directed:
        lines = (line.replace('="directed"', '="undirected"') if line.startswith("<graph ") else line for line in lines)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise UserError(f"{path} exists already; choose another name, or move it away: nothing is overwritten") from None
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}; choose another place.") from None


def check_name(path: Path) -> None:
    """Raises `UserError` at once for what `write_graph` would refuse later."""
    _format(path)
    if path.exists():
        raise UserError(f"{path} exists already; choose another name, or move it away: nothing is overwritten")


def _format(path: Path) -> Callable[[Sequence[Node], Sequence[Arc]], Iterator[str]]:
    written = _FORMATS.get(path.suffix.lower())
    if written is None:
        raise UserError(f"{path}: graphs are written as {', '.join(_FORMATS)}; choose one of these endings")
    return written


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


def _gexf(nodes: Sequence[Node], arcs: Sequence[Arc]) -> Iterator[str]:
    kinds = {str: "string", int: "long", float: "double"}
    yield _XML
    yield '<gexf xmlns="http://gexf.net/1.3" version="1.3">'
    yield '<graph defaultedgetype="directed">'
    tables = {"node": _columns(nodes), "edge": _columns(arcs)}
    for name, columns in tables.items():
        yield f'<attributes class="{name}">'
        yield from (
            f'<attribute id="{n}" title={_quoted(title)} type="{kinds[kind]}"/>'
            for n, (title, kind) in enumerate(columns.items())
        )
        yield "</attributes>"
    yield "<nodes>"
    for node in nodes:
        yield f"<node id={_quoted(node.id)} label={_quoted(node.label)}>{_gexf_values(node.values, tables['node'])}</node>"
    yield "</nodes>"
    yield "<edges>"
    for number, arc in enumerate(arcs):
        ends = f'id="{number}" source={_quoted(arc.source)} target={_quoted(arc.target)}'
        yield f"<edge {ends}>{_gexf_values(arc.values, tables['edge'])}</edge>"
    yield "</edges></graph></gexf>"


def _gexf_values(values: Mapping[str, Value], columns: Mapping[str, type]) -> str:
    told = "".join(f'<attvalue for="{place}" value={_quoted(value)}/>' for place, value in _told(values, columns))
    return f"<attvalues>{told}</attvalues>" if told else ""


def _graphml(nodes: Sequence[Node], arcs: Sequence[Arc]) -> Iterator[str]:
    kinds = {str: "string", int: "long", float: "double"}
    yield _XML
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    labelled = [Node(node.id, node.label, {"label": node.label, **node.values}) for node in nodes]
    tables = {"node": _columns(labelled), "edge": _columns(arcs)}
    for name, columns in tables.items():
        for place, (title, kind) in enumerate(columns.items()):
            yield f'<key id="{name}{place}" for="{name}" attr.name={_quoted(title)} attr.type="{kinds[kind]}"/>'
    yield '<graph edgedefault="directed">'
    for node in labelled:
        yield f"<node id={_quoted(node.id)}>{_graphml_values('node', node.values, tables['node'])}</node>"
    for arc in arcs:
        values = _graphml_values("edge", arc.values, tables["edge"])
        yield f"<edge source={_quoted(arc.source)} target={_quoted(arc.target)}>{values}</edge>"
    yield "</graph></graphml>"


def _graphml_values(name: str, values: Mapping[str, Value], columns: Mapping[str, type]) -> str:
    from xml.sax.saxutils import escape

    return "".join(f'<data key="{name}{place}">{escape(_plain(str(value)))}</data>' for place, value in _told(values, columns))


def _jsonl(nodes: Sequence[Node], arcs: Sequence[Arc]) -> Iterator[str]:
    for node in nodes:
        yield msgspec.json.encode({"node": node.id, "label": node.label, **node.values}).decode()
    for arc in arcs:
        yield msgspec.json.encode({"source": arc.source, "target": arc.target, **arc.values}).decode()


_FORMATS = {".gexf": _gexf, ".graphml": _graphml, ".jsonl": _jsonl}
