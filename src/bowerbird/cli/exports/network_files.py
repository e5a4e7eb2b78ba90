"""`bowerbird export network`: who follows, mentions, answers or passes on whom, as a graph."""

from __future__ import annotations

import asyncio

import msgspec

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import Output
from bowerbird.cli.which import NamedStore, read_store
from bowerbird.clock import RealClock
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.errors import UserError
from bowerbird.export.jobs.manifest import Manifest, Source
from bowerbird.export.jobs.request import Request
from bowerbird.export.networks.job import export_network


def write_network(output: Output, place: NamedStore, request: Request, kind: str) -> None:
    """Writes the whole network in one go."""
    if request.out == "-":
        raise UserError(
            "a network needs a file: --out network.gexf, .graphml or .jsonl, or a folder for neo4j-admin", code="needs_option"
        )
    manifest = asyncio.run(_written(place, request, kind))
    nodes, edges = manifest.nodes or 0, manifest.rows
    names = [file.name for file in manifest.files]
    where = request.out if len(names) == 1 else f"{request.out} ({', '.join(names)})"
    output.line(f"{numbers.many(nodes, 'node')} and {numbers.many(edges, 'edge')} ({kind}) are in {where}.")
    told = {"store": place.shown, "what": "network", "kind": kind, "out": request.out}
    output.result(told | {"nodes": nodes, "edges": edges, "files": [msgspec.structs.asdict(file) for file in manifest.files]})


async def _written(place: NamedStore, request: Request, kind: str) -> Manifest:
    async with read_store(place, RealClock()) as database:
        return await export_network(database, request, kind, Source(place.shown, SCHEMA_VERSION), RealClock())
