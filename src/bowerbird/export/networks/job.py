"""One network from the store to its files and their manifest.

The database counts edges a range of accounts at a time. They wait as numbers in a file without a name until all nodes are
written, because graph files have nodes first; so memory holds one block of them, however many there are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bowerbird.errors import UserError
from bowerbird.export.jobs.manifest import Manifest, ManifestFile, Run, Source
from bowerbird.export.jobs.request import Request, asked, destination_of
from bowerbird.export.networks.files import EDGE_COLUMNS, GraphFiles, Neo4jFiles, OneGraph
from bowerbird.export.networks.graphs import form_of
from bowerbird.export.networks.nodes import AccountNodes, NodeNames, Tags
from bowerbird.ports import Clock, Database
from bowerbird.reports.blocks.columns import Array
from bowerbird.reports.blocks.networks import NetworkReader

_TOGETHER = 10_000
"""Edges."""
_WIDTH = 5


class Waiting:
    """Edges in a file that vanishes with the process."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`

    def add(self, edges: Array) -> None:
        self._file.write(np.ascontiguousarray(edges, np.int64).tobytes())

    def blocks(self) -> Iterator[Array]:
        self._file.seek(0)
        while content := self._file.read(_TOGETHER * _WIDTH * 8):
            yield np.frombuffer(content, np.int64).reshape(-1, _WIDTH)

    def close(self) -> None:
        self._file.close()


def mutual(every: Waiting) -> Iterator[Array]:
    """Those that go both ways; memory holds eight bytes an edge. Nobody has a tie with himself."""
    pairs = [_pair(block[:, 0], block[:, 1]) for block in every.blocks()]
    known = np.sort(np.concatenate(pairs)) if pairs else np.zeros(1, np.int64)
    for block in every.blocks():
        back = _pair(block[:, 1], block[:, 0])
        is_there = known[np.minimum(np.searchsorted(known, back), len(known) - 1)] == back
        yield block[is_there & (block[:, 0] != block[:, 1])]


def _pair(sources: Array, targets: Array) -> Array:
    """Both ends in one number: accounts are counted from one on, and nobody stores four billion."""
    return sources << 32 | targets


async def export_network(database: Database, request: Request, kind: str, source: Source, clock: Clock) -> Manifest:
    """Writes the whole network; the database is one moment. Raises `UserError` for names that are taken or not understood."""
    is_graph = bool(Path(request.out).suffix)
    format_ = Path(request.out).suffix.lower().removeprefix(".") if is_graph else "neo4j"
    if is_graph:
        form_of(Path(request.out))
    if request.is_mutual and kind == "co-hashtag":
        raise UserError("hashtags go together in no direction", "leave --mutual out", code="unsupported")
    reader = NetworkReader(database, kind, request.choice)
    ends: NodeNames = Tags() if kind == "co-hashtag" else AccountNodes(reader, request.pseudonyms)
    manifest = Manifest(
        what="network", format=format_, source=source, options={"kind": kind, **asked(request)}, columns=list(EDGE_COLUMNS)
    )
    place, naming = destination_of(request, format_)
    try:
        file = ManifestFile(place, naming.manifest)
        files = OneGraph(place, naming.part(1), kind) if is_graph else Neo4jFiles(place, kind)
        began, waiting = clock.now(), Waiting()
        try:
            await _read(reader, ends, waiting, is_mutual=request.is_mutual)
            await _write(waiting, ends, files, manifest)
        finally:
            waiting.close()
        manifest.runs = [Run(began_at=began, ended_at=clock.now(), rows=manifest.rows)]
        file.write(manifest)
    finally:
        place.close()
    return manifest


async def _read(reader: NetworkReader, ends: NodeNames, waiting: Waiting, *, is_mutual: bool) -> None:
    """All edges that stay, with their ends noted."""
    every = Waiting()
    try:
        async for edges in reader.edges():
            (every if is_mutual else waiting).add(ends.numbered(edges))
        for block in mutual(every):
            waiting.add(block)
    finally:
        every.close()
    for block in waiting.blocks():
        ends.note(block)


async def _write(waiting: Waiting, ends: NodeNames, files: GraphFiles, manifest: Manifest) -> None:
    nodes = 0
    try:
        async for some in ends.nodes():
            files.nodes(some)
            nodes += len(some)
        for block in waiting.blocks():
            named = await ends.named(block)
            files.edges(named)
            manifest.rows += len(named)
    except BaseException:
        files.leave()
        raise
    manifest.nodes = nodes
    manifest.files = files.finish(nodes, manifest.rows)
