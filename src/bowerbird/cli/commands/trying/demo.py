"""`bowerbird demo`: a whole crawl of a simulated service over real HTTP, in under a minute."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Annotated

import typer
from msgspec import Struct, structs

from bowerbird.app import Outside, open_crawl
from bowerbird.cli.dashboards.shown import DashboardFlag, DashboardOptions, DashboardPort, check_installed, dashboard_shown
from bowerbird.cli.demo_stage.company import in_company
from bowerbird.cli.demo_stage.found import Found, compare
from bowerbird.cli.demo_stage.scene import Scene, lasting, opened_scene
from bowerbird.cli.demo_stage.tokens import demo_vault, keep_tokens
from bowerbird.cli.demo_stage.verdict import show_verdict, verdict_values
from bowerbird.cli.live.report import report_values
from bowerbird.cli.live.run import Run, run_shown
from bowerbird.cli.live.view import View
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.model import CrawlState
from bowerbird.model.networks import FIRST
from bowerbird.settings import load_settings
from bowerbird.simulated.service import DIALECTS
from bowerbird.transport import HttpTransport

_USUAL = timedelta(seconds=40)


def command(
    seconds: Annotated[
        int | None,
        typer.Option(
            "--seconds", min=3, max=3_600, help="End after this time at the latest.", show_default="40, with a dashboard none"
        ),
    ] = None,
    dialect: Annotated[str, typer.Option("--dialect", metavar="|".join(DIALECTS), help="Which API the service speaks.")] = FIRST,
    seed: Annotated[int, typer.Option("--seed", help="Another seed is another world.")] = 1,
    dashboard: DashboardFlag = False,
    port: DashboardPort = None,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Whether the dashboard is opened in the browser, where there is one.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the summary.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Start a simulated service on this machine, crawl it within its limits, and compare the result with the truth.

    Needs no network and no credentials. The database stays for you to look at; the next demo starts afresh. With --dashboard it
    goes on until Ctrl-C, and collects an event and a community beside it, so that every page has something to show.
    """
    output = Output(as_json=as_json)
    if dashboard:
        check_installed()
    time = timedelta(seconds=seconds) if seconds else None if dashboard else _USUAL
    if not quiet:
        output.line("Building a simulated microblog and serving it over HTTP on this machine ...", style="dim")
    wish = _Wish(dialect, seed, time, DashboardOptions(port=port, opens=opens) if dashboard else None)
    scene, run, found = asyncio.run(_play(wish, chosen_view(as_json=as_json, is_quiet=quiet)))
    show_verdict(output, scene, run, found)
    output.result({**report_values(run), **verdict_values(scene, found)})
    raise typer.Exit(130 if run.was_interrupted else 3 if run.ending.state == CrawlState.FAILED else 0)


class _Wish(Struct, frozen=True):
    dialect: str
    seed: int
    time: timedelta | None
    """Whoever looks at it in a browser ends it with Ctrl-C."""
    shown: DashboardOptions | None


async def _play(wish: _Wish, view: View) -> tuple[Scene, Run, Found]:
    clock, settings = RealClock(), load_settings()
    transport = HttpTransport(clock, settings.user_agent)
    folder = settings.data_folder / "demo"
    more = lasting(wish.time, is_shown=wish.shown is not None)
    try:
        async with opened_scene(wish.dialect, wish.seed, more, folder, clock) as scene:
            outside = Outside(clock=clock, transport=transport, vault=scene.vault, glance=timedelta(milliseconds=200))
            async with open_crawl(scene.plan, outside) as crawl, _shown(scene, wish, view):
                view.every = min(view.every, timedelta(seconds=3))
                # Who looks on wants to see it go on: people of the simulated network post all the time.
                run = await run_shown(crawl, outside, view, enough=None if wish.shown else scene.is_caught_up)
                found = await compare(scene, crawl.database, clock.now())
                if wish.shown and not run.was_interrupted and sys.stdout.isatty():
                    view.say("The crawl has ended; the dashboard stays until Ctrl-C.")
                    await _until_interrupted()
                return scene, run, found
    finally:
        await transport.close()


@asynccontextmanager
async def _shown(scene: Scene, wish: _Wish, view: View) -> AsyncIterator[None]:
    """The dashboard, if one is wanted, with the crawls that it shows beside the first."""
    if wish.shown is None:
        yield
        return
    vault = demo_vault(scene.folder)
    keep_tokens(vault, scene.vault)
    shown = structs.replace(wish.shown, vault=vault.path)
    async with dashboard_shown(scene.plan.store, view.say, shown), in_company(scene.folder, wish.seed, view.say):
        yield


async def _until_interrupted() -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    try:
        await ended.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
