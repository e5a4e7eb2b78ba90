"""`bowerbird serve`: show a store in a browser, and hand the calls of a crawl out to workers that have no database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct, json

from bowerbird.app import Outside, Participation
from bowerbird.cli.checks.consent import check_consent
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.dashboards.alone import show_store
from bowerbird.cli.dashboards.coordinated import Shown
from bowerbird.cli.fleet.plans import named_plan, planned_in
from bowerbird.cli.fleet.serving import Service, serve_crawl
from bowerbird.cli.fleet.working import Ended
from bowerbird.cli.live.view import View
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import find_store, is_database
from bowerbird.clock import RealClock
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import CrawlState
from bowerbird.remote.bodies import MOST, Sizes
from bowerbird.remote.description import openapi
from bowerbird.settings import Settings, load_settings
from bowerbird.transport import HttpTransport
from bowerbird.transport.media import HttpMedia
from bowerbird.transport.serving import Listening
from bowerbird.web.wanted import PORT, Wanted

FAILED = 3
INTERRUPTED = 130
_MEGABYTE = 1024 * 1024

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="DATABASE", help="The database: postgresql://…, vault:NAME, or a SQLite file.")
]


def command(
    crawl: Annotated[
        str | None,
        typer.Argument(
            metavar="[CRAWL|FILE|DATABASE]",
            help="A crawl to serve to workers: its name in the database, or its file, which begins it if need be; a database, or "
            "nothing, shows the store alone.",
        ),
    ] = None,
    store: StoreOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is for this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = PORT,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate for TLS, with its chain (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key (PEM).")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Serve others without TLS: something in front of it does that.")] = False,
    work: Annotated[bool, typer.Option("--work", help="Make calls itself too, with the credentials of its own vault.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, max=1024, help="Megabytes that one request may have, unpacked.")] = MOST
    // _MEGABYTE,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST", help="A name by which others reach the dashboard; may be given several times."),
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard/--no-dashboard", help="Whether there is a dashboard beside what workers ask.")
    ] = True,
    opens: Annotated[bool, typer.Option("--open", help="Open the dashboard in the browser.")] = False,
    describe: Annotated[bool, typer.Option("--openapi", help="Print what is served as an OpenAPI document, and end.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the end.")] = False,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a store in a browser; with a crawl, also hand its calls out to workers that have no database.

    The dashboard is for this machine alone, and the printed address lets you in, until people have passwords: `bowerbird people
    add NAME`. Each worker needs a token: `bowerbird worker tokens add NAME`. What serves a crawl ends when the crawl does; Ctrl-C
    lets the calls that are out come home, and the workers wait for it to come back. Exit codes: 0 finished or stopped as asked,
    2 something you can change, 3 failed, 130 after Ctrl-C.
    """
    if describe:
        typer.echo(json.format(json.encode(openapi())).decode())
        raise typer.Exit
    where = Listening(host=host, port=port, certificate=certificate, key=key, may_be_plain=plain)
    where.check()
    settings = load_settings(vault=vault)
    if crawl is None or is_database(crawl):
        place = find_store(crawl or store)
        wanted = Wanted(store=place.store, where=where, names=tuple(names or ()))
        asyncio.run(show_store(settings, wanted, Output(as_json=as_json), opens=opens))
        return
    view = chosen_view(as_json=as_json, is_quiet=quiet)
    sizes = Sizes(packed=most * _MEGABYTE, unpacked=most * _MEGABYTE)
    output = Output(as_json=as_json)
    shown = Shown(names=tuple(names or ()), opens=opens) if dashboard else None
    ended = asyncio.run(_serve(settings, (crawl, store), where, _How(sizes, work, shown), view))
    view.close()
    output.line(f"The crawl has {ended.ending.state}: {ended.ending.reason}." if not ended.was_interrupted else "Interrupted.")
    output.result({"state": ended.ending.state, "reason": ended.ending.reason})
    raise typer.Exit(INTERRUPTED if ended.was_interrupted else FAILED if ended.ending.state == CrawlState.FAILED else 0)


class _How(Struct, frozen=True):
    sizes: Sizes
    works: bool
    shown: Shown | None


async def _serve(settings: Settings, meant: tuple[str | None, str | None], where: Listening, how: _How, view: View) -> Ended:
    clock, opened = RealClock(), open_vault(settings)
    named = await named_plan(*meant, opened, clock)
    transport = HttpTransport(clock, load_settings(contact=named.contact or settings.contact).user_agent)
    media = HttpMedia(settings.user_agent, allows_private=named.media is not None and named.media.allows_private)
    outside = Outside(
        clock=clock, transport=transport, vault=opened, media=media, participation=Participation(makes_calls=how.works)
    )
    if not named.is_joined:
        await check_consent(named, outside, is_given=False, say=view.say)

    async def plan() -> CrawlPlan:
        return await planned_in(named.store, named.name, clock) if named.is_joined else named

    try:
        return await serve_crawl(Service(outside=outside, where=where, view=view, sizes=how.sizes, plan=plan, shown=how.shown))
    finally:
        await transport.close()
        await media.close()
