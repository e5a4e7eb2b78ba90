"""One network from the store to its files and their manifest.

The database counts edges a range of accounts at a time. They wait as numbers in a file without a name until all nodes are
written, because graph files have nodes first; so memory holds one block of them, however many there are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from bowerbird.export.jobs.manifest import Manifest, ManifestFile, Run, Source
from bowerbird.export.jobs.request import Request, asked, place_of
from bowerbird.export.networks.ends import Accounts, Ends, Tags
from bowerbird.export.networks.files import EDGE_COLUMNS, GraphFiles, Neo4jFiles, OneGraph
from bowerbird.export.networks.graphs import form_of
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


async def export_network(database: Database, request: Request, kind: str, source: Source, clock: Clock) -> Manifest:
    """Writes the whole network; the database is one moment. Raises `UserError` for names that are taken or not understood."""
    is_graph = bool(Path(request.out).suffix)
    format_ = Path(request.out).suffix.lower().removeprefix(".") if is_graph else "neo4j"
    if is_graph:
        form_of(Path(request.out))
    reader = NetworkReader(database, kind, request.choice)
    ends: Ends = Tags() if kind == "co-hashtag" else Accounts(reader, request.pseudonyms)
    manifest = Manifest(
        what="network", format=format_, source=source, options={"kind": kind, **asked(request)}, columns=list(EDGE_COLUMNS)
    )
    place, naming = place_of(request, format_)
    try:
        file = ManifestFile(place, naming.manifest)
        files = OneGraph(place, naming.part(1), kind) if is_graph else Neo4jFiles(place, kind)
        await _write(reader, ends, files, manifest, clock.now)
        file.write(manifest)
    finally:
        place.close()
    return manifest


async def _write(reader: NetworkReader, ends: Ends, files: GraphFiles, manifest: Manifest, now: Callable[[], datetime]) -> None:
    began, waiting, nodes = now(), Waiting(), 0
    try:
        async for edges in reader.edges():
            waiting.add(ends.numbered(edges))
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
    finally:
        waiting.close()
    manifest.nodes = nodes
    manifest.files = files.finish(nodes, manifest.rows)
    manifest.runs = [Run(began_at=began, ended_at=now(), rows=manifest.rows)]
