"""`bowerbird demo`: a whole crawl of a simulated service over real HTTP, in under a minute."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import typer

from bowerbird.app import Outside, open_crawl
from bowerbird.cli.demo_stage.found import Found, compare
from bowerbird.cli.demo_stage.scene import Scene, opened_scene
from bowerbird.cli.demo_stage.verdict import show_verdict, verdict_values
from bowerbird.cli.live.report import report_values
from bowerbird.cli.live.run import Run, run_shown
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.model import CrawlState
from bowerbird.settings import load_settings
from bowerbird.simulated.service import DIALECTS
from bowerbird.transport import HttpTransport

_LANDING = timedelta(seconds=5)


def command(
    seconds: Annotated[int, typer.Option("--seconds", min=3, max=3_600, help="End after this time at the latest.")] = 40,
    dialect: Annotated[
        str, typer.Option("--dialect", metavar="|".join(DIALECTS), help="Which API the service speaks.")
    ] = "mastodon",
    seed: Annotated[int, typer.Option("--seed", help="Another seed is another world.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the summary.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Start a simulated service on this machine, crawl it within its limits, and compare the result with the truth.

    Needs no network and no credentials. The database stays for you to look at; the next demo starts afresh.
    """
    output = Output(as_json=as_json)
    if not quiet:
        output.line("Building a simulated microblog and serving it over HTTP on this machine ...", style="dim")
    scene, run, found = asyncio.run(_play(dialect, seed, timedelta(seconds=seconds), is_quiet=quiet, as_json=as_json))
    show_verdict(output, scene, run, found)
    output.result({**report_values(run), **verdict_values(scene, found)})
    raise typer.Exit(130 if run.was_interrupted else 3 if run.ending.state == CrawlState.FAILED else 0)


async def _play(dialect: str, seed: int, time: timedelta, *, is_quiet: bool, as_json: bool) -> tuple[Scene, Run, Found]:
    clock, settings = RealClock(), load_settings()
    transport = HttpTransport(clock, settings.user_agent)
    try:
        async with opened_scene(dialect, seed, time, settings.data_folder / "demo", clock) as scene:
            outside = Outside(clock=clock, transport=transport, vault=scene.vault, glance=timedelta(milliseconds=200))
            async with open_crawl(scene.plan, outside) as crawl:
                view = chosen_view(as_json=as_json, is_quiet=is_quiet)
                view.every = min(view.every, timedelta(seconds=3))
                run = await run_shown(crawl, outside, view, enough=scene.is_caught_up)
                return scene, run, await compare(scene, crawl.database, clock.now())
    finally:
        await transport.close()
