"""`bowerbird demo`: a whole crawl of a simulated service over real HTTP, in under a minute."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta
from typing import Annotated

import typer
from msgspec import Struct

from bowerbird.app import Outside, open_crawl
from bowerbird.cli.dashboards.beside import Beside, DashboardFlag, DashboardPort, check_installed, dashboard_beside
from bowerbird.cli.demo_stage.found import Found, compare
from bowerbird.cli.demo_stage.scene import Scene, opened_scene
from bowerbird.cli.demo_stage.verdict import show_verdict, verdict_values
from bowerbird.cli.live.report import report_values
from bowerbird.cli.live.run import Run, run_shown
from bowerbird.cli.live.view import View
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.model import CrawlState
from bowerbird.settings import load_settings
from bowerbird.simulated.service import DIALECTS
from bowerbird.transport import HttpTransport

_USUAL, _SHOWN = 40, 600
"""Seconds of a demo, and of one that somebody looks at in a browser."""


def command(
    seconds: Annotated[
        int | None,
        typer.Option(
            "--seconds", min=3, max=3_600, help="End after this time at the latest.", show_default="40, with a dashboard 600"
        ),
    ] = None,
    dialect: Annotated[
        str, typer.Option("--dialect", metavar="|".join(DIALECTS), help="Which API the service speaks.")
    ] = "mastodon",
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
    crawls on while people post, and stays open on a terminal until Ctrl-C.
    """
    output = Output(as_json=as_json)
    if dashboard:
        check_installed()
    time = timedelta(seconds=seconds or (_SHOWN if dashboard else _USUAL))
    if not quiet:
        output.line("Building a simulated microblog and serving it over HTTP on this machine ...", style="dim")
    wish = _Wish(dialect, seed, time, Beside(port=port, opens=opens) if dashboard else None)
    scene, run, found = asyncio.run(_play(wish, chosen_view(as_json=as_json, is_quiet=quiet)))
    show_verdict(output, scene, run, found)
    output.result({**report_values(run), **verdict_values(scene, found)})
    raise typer.Exit(130 if run.was_interrupted else 3 if run.ending.state == CrawlState.FAILED else 0)


class _Wish(Struct, frozen=True):
    dialect: str
    seed: int
    time: timedelta
    shown: Beside | None


async def _play(wish: _Wish, view: View) -> tuple[Scene, Run, Found]:
    clock, settings = RealClock(), load_settings()
    transport = HttpTransport(clock, settings.user_agent)
    try:
        async with opened_scene(wish.dialect, wish.seed, wish.time, settings.data_folder / "demo", clock) as scene:
            outside = Outside(clock=clock, transport=transport, vault=scene.vault, glance=timedelta(milliseconds=200))
            async with open_crawl(scene.plan, outside) as crawl, dashboard_beside(scene.plan.store, view.say, wish.shown):
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


async def _until_interrupted() -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    try:
        await ended.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
