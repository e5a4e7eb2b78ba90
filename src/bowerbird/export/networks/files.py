"""Files that nodes and then edges are written to: one graph, or a folder as `neo4j-admin database import` reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from bowerbird.errors import UserError
from bowerbird.export.jobs.destinations import Destination, Finished, OutFile
from bowerbird.export.networks.graphs import Arc, Columns, Node, Value, form_of
from bowerbird.export.networks.nodes import Edge, NetworkNode
from bowerbird.export.rows.cells import cell

EDGE_COLUMNS = ("source", "target", "weight", "first", "last")
_TYPES = {"follow": "FOLLOWS", "mention": "MENTIONS", "reply": "REPLIES_TO", "repost": "REPOSTS", "quote": "QUOTES"}
_UNDIRECTED = "co-hashtag"


class GraphFiles(Protocol):
    """Takes all nodes, then all edges."""

    def nodes(self, nodes: Sequence[NetworkNode]) -> None: ...

    def edges(self, edges: Sequence[Edge]) -> None: ...

    def finish(self, nodes: int, edges: int) -> list[Finished]: ...

    def leave(self) -> None:
        """Lets go of what is not whole."""
        ...


class OneGraph:
    """A graph file by the ending of its name."""

    def __init__(self, destination: Destination, name: str, kind: str) -> None:
        form = form_of(Path(name))
        _check_new(destination, name)
        self._kind = kind
        told = {} if kind == _UNDIRECTED else {"handle": str, "network": str}
        edges = {"weight": int, "first": str, "last": str, "kind": str}
        self._form = form(Columns(told, edges, is_directed=kind != _UNDIRECTED))
        self._file = OutFile(destination, name)
        self.leave = self._file.leave
        self._has_edges = False
        _put(self._file, self._form.opening())

    def nodes(self, nodes: Sequence[NetworkNode]) -> None:
        _put(self._file, (self._form.node(_node(each)) for each in nodes))

    def edges(self, edges: Sequence[Edge]) -> None:
        self._end_nodes()
        _put(self._file, (self._form.arc(self._arc(each)) for each in edges))

    def finish(self, nodes: int, edges: int) -> list[Finished]:
        self._end_nodes()
        _put(self._file, [self._form.closing()])
        return [self._file.finish(edges)]

    def _end_nodes(self) -> None:
        if not self._has_edges:
            self._has_edges = True
            _put(self._file, [self._form.middle()])

    def _arc(self, edge: Edge) -> Arc:
        values: dict[str, Value] = {"weight": edge.weight, "first": edge.first, "last": edge.last, "kind": self._kind}
        return Arc(edge.source, edge.target, values)


class Neo4jFiles:
    """`nodes.csv` and `relationships.csv`."""

    def __init__(self, destination: Destination, kind: str) -> None:
        for name in ("nodes.csv", "relationships.csv"):
            _check_new(destination, name)
        self._label = "Hashtag" if kind == _UNDIRECTED else "Account"
        self._type = _TYPES.get(kind, "USED_WITH")
        self._nodes, self._edges = OutFile(destination, "nodes.csv"), OutFile(destination, "relationships.csv")
        _put(self._nodes, ["id:ID,handle,network,:LABEL"])
        _put(self._edges, [":START_ID,:END_ID,weight:long,first:datetime,last:datetime,:TYPE"])

    def nodes(self, nodes: Sequence[NetworkNode]) -> None:
        _put(self._nodes, (_line(each.id, each.handle, each.network, kind=self._label) for each in nodes))

    def edges(self, edges: Sequence[Edge]) -> None:
        _put(self._edges, (_line(e.source, e.target, e.weight, e.first, e.last, kind=self._type) for e in edges))

    def finish(self, nodes: int, edges: int) -> list[Finished]:
        return [self._nodes.finish(nodes), self._edges.finish(edges)]

    def leave(self) -> None:
        self._nodes.leave()
        self._edges.leave()


def _node(end: NetworkNode) -> Node:
    label = f"@{end.handle}" if end.handle else end.id
    return Node(end.id, label, {"handle": end.handle, "network": end.network} if end.network else {})


def _line(*values: Any, kind: str) -> str:
    return f"{','.join(map(cell, values))},{kind}"


def _put(file: OutFile, lines: Iterable[str]) -> None:
    file.write("".join(f"{line}\n" for line in lines if line).encode("utf-8", "replace"))


def _check_new(destination: Destination, name: str) -> None:
    if destination.has(name):
        raise UserError(
            f"{name} exists already in {destination.shown}",
            "choose another place, or move it away: nothing is overwritten",
            code="already_exists",
        )
