"""`bowerbird serve`: hand the calls of a crawl out to workers that have no database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from msgspec import json

from bowerbird.app import Outside
from bowerbird.cli.checks.consent import check_consent
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.fleet.plans import named_plan, planned_in
from bowerbird.cli.fleet.serving import Service, serve_crawl
from bowerbird.cli.fleet.working import Ended
from bowerbird.cli.live.view import View
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import CrawlState
from bowerbird.remote.bodies import MOST, Sizes
from bowerbird.remote.description import openapi
from bowerbird.settings import Settings, load_settings
from bowerbird.transport import HttpTransport
from bowerbird.transport.media import HttpMedia
from bowerbird.transport.serving import Listening

FAILED = 3
INTERRUPTED = 130
_MEGABYTE = 1024 * 1024

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="DATABASE", help="The database: postgresql://…, vault:NAME, or a SQLite file.")
]


def command(
    crawl: Annotated[
        str | None,
        typer.Argument(metavar="[CRAWL|FILE]", help="The crawl in the database, or a crawl file, which begins it if need be."),
    ] = None,
    store: StoreOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is for this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8440,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate for TLS, with its chain (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key (PEM).")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Serve others without TLS: something in front of it does that.")] = False,
    work: Annotated[bool, typer.Option("--work", help="Make calls itself too, with the credentials of its own vault.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, max=1024, help="Megabytes that one request may have, unpacked.")] = MOST
    // _MEGABYTE,
    describe: Annotated[bool, typer.Option("--openapi", help="Print what is served as an OpenAPI document, and end.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the end.")] = False,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Hand the calls of a crawl out to workers that have no database, over HTTP, and save what they bring.

    Each worker needs a token: `bowerbird worker tokens add NAME`. It ends when the crawl does; Ctrl-C lets the calls that are
    out come home, and the workers wait for it to come back. Exit codes: 0 finished or stopped as asked, 2 something you can
    change, 3 failed, 130 after Ctrl-C.
    """
    if describe:
        typer.echo(json.format(json.encode(openapi())).decode())
        raise typer.Exit
    where = Listening(host=host, port=port, certificate=certificate, key=key, may_be_plain=plain)
    where.check()
    settings, view = load_settings(vault=vault), chosen_view(as_json=as_json, is_quiet=quiet)
    sizes = Sizes(packed=most * _MEGABYTE, unpacked=most * _MEGABYTE)
    output = Output(as_json=as_json)
    ended = asyncio.run(_serve(settings, (crawl, store), where, (sizes, work), view))
    view.close()
    output.line(f"The crawl has {ended.ending.state}: {ended.ending.reason}." if not ended.was_interrupted else "Interrupted.")
    output.result({"state": ended.ending.state, "reason": ended.ending.reason})
    raise typer.Exit(INTERRUPTED if ended.was_interrupted else FAILED if ended.ending.state == CrawlState.FAILED else 0)


async def _serve(
    settings: Settings, meant: tuple[str | None, str | None], where: Listening, how: tuple[Sizes, bool], view: View
) -> Ended:
    clock, opened = RealClock(), open_vault(settings)
    named = await named_plan(*meant, opened, clock)
    transport = HttpTransport(clock, load_settings(contact=named.contact or settings.contact).user_agent)
    media = HttpMedia(settings.user_agent, allows_private=named.media is not None and named.media.allows_private)
    outside = Outside(clock=clock, transport=transport, vault=opened, media=media, makes_calls=how[1])
    if not named.is_joined:
        await check_consent(named, outside, is_given=False, say=view.say)

    async def plan() -> CrawlPlan:
        return await planned_in(named.store, named.name, clock) if named.is_joined else named

    try:
        return await serve_crawl(Service(outside=outside, where=where, view=view, sizes=how[0], plan=plan))
    finally:
        await transport.close()
        await media.close()
