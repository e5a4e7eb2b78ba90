"""`bowerbird export network`: who follows, mentions, answers or passes on whom, as a graph."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bowerbird.cli.screens import numbers
from bowerbird.cli.screens.output import Output
from bowerbird.cli.which import Place, read_place
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.graphs import check_name
from bowerbird.export.jobs.request import Request
from bowerbird.export.networks import Network, read_network, write
from bowerbird.reports.blocks.networks import NetworkReader


def write_network(output: Output, place: Place, request: Request, kind: str) -> None:
    """Reads the whole network and writes it in one go."""
    out = Path(request.out)
    if request.out == "-" or request.out.startswith("s3://"):
        raise UserError(
            "a network needs a file of this machine: --out network.gexf, .graphml or .jsonl, or a folder for neo4j-admin"
        )
    if out.suffix:
        check_name(out)
    network = asyncio.run(_read(place, request, kind))
    files = write(network, out)
    nodes, edges = len(network.nodes), len(network.edges)
    output.line(f"{numbers.many(nodes, 'node')} and {numbers.many(edges, 'edge')} ({kind}) are in {', '.join(map(str, files))}.")
    told = {"store": place.shown, "what": "network", "kind": kind, "out": out}
    output.result(told | {"nodes": nodes, "edges": edges, "files": files})


async def _read(place: Place, request: Request, kind: str) -> Network:
    async with read_place(place, RealClock()) as database:
        return await read_network(NetworkReader(database, kind, request.choice), kind, request.pseudonyms)
