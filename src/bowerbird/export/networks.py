"""Networks as files: GEXF, GraphML, JSON lines and CSV as `neo4j-admin database import` reads it, with weights and times.

Edges are kept in memory as numbers (40 bytes each), names are looked up when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.export.graphs import Arc, Node, write_graph
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.rows.cells import cell, told_time
from bowerbird.reports.blocks.block import text
from bowerbird.reports.blocks.networks import Edges, NetworkReader

_TOGETHER = 50_000
_TYPES = {"follow": "FOLLOWS", "mention": "MENTIONS", "reply": "REPLIES_TO", "repost": "REPOSTS", "quote": "QUOTES"}
_NOWHEN = np.iinfo(np.int64).min


class Network(Struct):
    """A graph by columns: names of nodes, and edges between their places."""

    kind: str
    nodes: list[tuple[str, str | None, str | None]]
    """Id, handle and network; of hashtags the tag alone."""
    edges: Any
    """Five columns of numbers: source, target, weight, first and last time."""

    def named(self) -> Iterator[Node]:
        for id_, handle, network in self.nodes:
            yield Node(id_, f"@{handle}" if handle else id_, {"handle": handle, "network": network} if network else {})

    def arcs(self) -> Iterator[Arc]:
        for source, target, weight, first, last in self.edges.tolist():
            values = {"weight": weight, "first": _time(first), "last": _time(last), "kind": self.kind}
            yield Arc(self.nodes[source][0], self.nodes[target][0], values)


async def read_network(reader: NetworkReader, kind: str, names: Pseudonyms | None = None) -> Network:
    """The whole network; edges of accounts that asked not to be collected are left out."""
    parts = [_of_tags(edges) if kind == "co-hashtag" else _of_accounts(edges) async for edges in reader.edges()]
    if kind == "co-hashtag":
        return _tag_network(parts)
    edges = np.concatenate(parts) if parts else np.empty((0, 5), dtype=np.int64)
    numbers = np.unique(edges[:, :2])
    known: dict[int, Any] = {}
    for low in range(0, len(numbers), _TOGETHER):
        known |= await reader.names(numbers[low : low + _TOGETHER].tolist())
    kept = np.array(sorted(known), dtype=np.int64)
    edges = edges[np.isin(edges[:, 0], kept) & np.isin(edges[:, 1], kept)]
    edges[:, :2] = np.searchsorted(kept, edges[:, :2])
    return Network(kind, [_told(known[number], names) for number in kept.tolist()], edges)


def _told(account: tuple[str, str | None, str], names: Pseudonyms | None) -> tuple[str, str | None, str | None]:
    id_, handle, network = account
    if names is None:
        return account
    return names.of_id(id_), None if handle is None else names.of_handle(handle), network


def _of_accounts(edges: Edges) -> Any:
    return np.array([edges.sources, edges.targets, edges.weights, _times(edges.first), _times(edges.last)], dtype=np.int64).T


def _of_tags(edges: Edges) -> Any:
    rest = np.array([edges.weights, _times(edges.first), _times(edges.last)], dtype=np.int64).T
    return [text(tag) for tag in edges.sources], [text(tag) for tag in edges.targets], rest


def _tag_network(parts: list[Any]) -> Network:
    tags = sorted({tag for sources, targets, _ in parts for tag in (*sources, *targets)})
    places = {tag: place for place, tag in enumerate(tags)}
    found = [
        np.column_stack([[places[t] for t in sources], [places[t] for t in targets], rest]) for sources, targets, rest in parts
    ]
    edges = np.concatenate(found) if found else np.empty((0, 5), dtype=np.int64)
    return Network("co-hashtag", [(f"#{tag}", None, None) for tag in tags], edges)


def _times(times: Any) -> list[int]:
    return [_NOWHEN if each is None else each for each in times]


def _time(micros: int) -> str | None:
    return None if micros == _NOWHEN else told_time(from_micros(micros))


def write(network: Network, out: Path) -> list[Path]:
    """A graph file by its ending, or a folder for `neo4j-admin`; what was written."""
    if out.suffix:
        write_graph(out, list(network.named()), list(network.arcs()), is_directed=network.kind != "co-hashtag")
        return [out]
    out.mkdir(parents=True, exist_ok=True)
    nodes, edges = out / "nodes.csv", out / "relationships.csv"
    for path in (nodes, edges):
        if path.exists():
            raise UserError(f"{path} exists already; choose another folder, or move it away: nothing is overwritten")
    label = "Hashtag" if network.kind == "co-hashtag" else "Account"
    with nodes.open("x", encoding="utf-8", newline="\n") as file:
        file.write("id:ID,handle,network,:LABEL\n")
        file.writelines(f"{','.join(map(cell, node))},{label}\n" for node in network.nodes)
    kind = _TYPES.get(network.kind, "USED_WITH")
    with edges.open("x", encoding="utf-8", newline="\n") as file:
        file.write(":START_ID,:END_ID,weight:long,first:datetime,last:datetime,:TYPE\n")
        file.writelines(f"{','.join(map(cell, _ends(network, edge)))},{kind}\n" for edge in network.edges.tolist())
    return [nodes, edges]


def _ends(network: Network, edge: list[int]) -> tuple[Any, ...]:
    source, target, weight, first, last = edge
    return network.nodes[source][0], network.nodes[target][0], weight, _time(first), _time(last)
