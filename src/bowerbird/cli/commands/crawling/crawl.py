"""`bowerbird crawl`: runs a crawl, or goes on with it where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct, structs

from bowerbird.analysis.places.gazetteer import is_built
from bowerbird.app import Outside, Participation, apply_seeds, open_crawl
from bowerbird.cli.checks.changed import applies, seeds_line
from bowerbird.cli.checks.consent import check_consent, keep_consent
from bowerbird.cli.checks.start import check_start
from bowerbird.cli.checks.trials import check_tokens
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.dashboards.shown import DashboardFlag, DashboardOptions, DashboardPort, check_installed, dashboard_shown
from bowerbird.cli.hints import continue_line
from bowerbird.cli.live.report import report_values, show_report
from bowerbird.cli.live.run import Run, run_shown
from bowerbird.cli.live.view import View
from bowerbird.cli.live.views import chosen_view
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.store_addresses import read_plan
from bowerbird.clock import RealClock
from bowerbird.db.addresses import public
from bowerbird.errors import Busy, DiskFull
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.language.spelling import duration
from bowerbird.model import CrawlState
from bowerbird.ports import Vault
from bowerbird.reports.rerun import RerunCommand, is_complete
from bowerbird.settings import Settings, load_settings
from bowerbird.transport import HttpTransport
from bowerbird.transport.media import HttpMedia
from bowerbird.transport.messages import OutsideMessenger

FAILED = 3
INTERRUPTED = 130


def _duration(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The crawl file; `bowerbird init` writes one.")],
    seeds: Annotated[
        list[str] | None,
        typer.Option("--seed", metavar="SEED", help="One more seed: an id, a handle or an address; may be given several times."),
    ] = None,
    calls: Annotated[int | None, typer.Option("--calls", min=1, help="End after so many more calls.")] = None,
    items: Annotated[int | None, typer.Option("--items", min=1, help="End after so many more items.")] = None,
    dollars: Annotated[
        float | None, typer.Option("--dollars", min=0.001, help="End before more than so many more dollars are spent.")
    ] = None,
    span: Annotated[
        timedelta | None,
        typer.Option("--for", parser=_duration, metavar="TIME", help="End after this time, such as 10m or 2h30m."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Run it as the crawl of this name, whatever the file is called.")
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave out seeds that cannot be understood, and say which."),
    ] = False,
    join: Annotated[bool, typer.Option("--join", help="Work beside another process that runs the same crawl.")] = False,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Follow the file where it was changed, and retire the seeds that it no longer names."),
    ] = False,
    is_agreed: Annotated[
        bool, typer.Option("--yes", help="Agree to what the crawl file lets the crawl spend, without being asked.")
    ] = False,
    dashboard: DashboardFlag = False,
    port: DashboardPort = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the dashboard in the browser.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the end.")] = False,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Run the crawl of a file, or go on with it where it stopped, however it stopped.

    Ctrl-C finishes what is in flight; a second one leaves at once. Exit codes: 0 finished or stopped as asked, 2 something you
    can change, 3 failed, 130 after Ctrl-C.
    """
    settings, output = load_settings(vault=vault), Output(as_json=as_json)
    if dashboard or opens:
        check_installed()
    opened = open_vault(settings)
    plan = structs.replace(read_plan(file, seeds or (), opened, name), skips_bad=skip_bad)
    command = RerunCommand(
        file=str(file),
        name=name,
        seeds=tuple(seeds or ()),
        skips_bad=skip_bad,
        vault=str(vault) if vault else None,
        keys=str(opened.path),
    )
    wish = _Wish(
        limits={"calls": calls, "items": items, "dollars": dollars, "duration": span},
        command=command,
        joins=join,
        applies=apply,
        is_agreed=is_agreed,
        view=chosen_view(as_json=as_json, is_quiet=quiet),
        shown=DashboardOptions(port=port, vault=vault, opens=opens) if dashboard or opens else None,
    )
    try:
        run = asyncio.run(_crawl(plan, settings, opened, wish))
    except (Busy, DiskFull) as error:
        if not as_json:
            output.line(f"Failed: {error} What was settled is safe.", style="red")
            output.line(continue_line(command.line()))
        output.result(
            {
                "state": CrawlState.FAILED,
                "reason": msgspec.to_builtins(error.failure),
                "store": public(plan.store),
                "continue_with": command.line(),
            }
        )
        raise typer.Exit(FAILED) from None
    continue_with = None if is_complete(run.ending.state, run.ending.reason) else command.line()
    if not as_json:
        show_report(output, run, continue_with, _place(command, run.last.store))
    output.result({**report_values(run), "continue_with": continue_with})
    raise typer.Exit(_code(run))


class _Wish(Struct, frozen=True):
    """What the command line says besides the crawl file."""

    limits: Mapping[str, object]
    command: RerunCommand
    joins: bool
    applies: bool
    is_agreed: bool
    view: View
    shown: DashboardOptions | None = None
    """The dashboard, if one is wanted."""


async def _crawl(plan: CrawlPlan, settings: Settings, vault: Vault, wish: _Wish) -> Run:
    clock = RealClock()
    contacted = load_settings(contact=plan.contact or settings.contact)
    transport = HttpTransport(clock, contacted.user_agent)
    media = HttpMedia(contacted.user_agent, allows_private=plan.media is not None and plan.media.allows_private)
    outside = Outside(
        clock=clock,
        transport=transport,
        vault=vault,
        media=media,
        messenger=OutsideMessenger(vault),
        participation=Participation(is_alone=not wish.joins),
    )
    say = wish.view.say
    try:
        plan = structs.replace(plan, called=wish.command.stored())
        start = await check_start(plan, outside, wish.limits, may_join=wish.joins, say=say)
        applied = await applies(plan, outside, wish.command, is_told=wish.applies, say=say)
        outside = structs.replace(outside, participation=structs.replace(outside.participation, applies=applied))
        agreed = await check_consent(start.plan, outside, is_given=wish.is_agreed, say=say)
        if plan.community is not None and not is_built(settings.cache_folder):
            say("Building the index of places first; that takes some seconds, once on this machine.")
        async with open_crawl(start.plan, outside, asked=start.asked) as crawl:
            # Said last: of a crawl that is refused nobody shall read that it goes on.
            for note in (*await check_tokens(crawl, outside), *start.notes, *crawl.notes):
                say(note)
            if (wish.applies or applied) and (line := seeds_line(await apply_seeds(crawl.database, plan, clock))):
                say(line)
            if agreed is not None:
                await keep_consent(crawl.database, start.plan, agreed, clock.now())
            async with dashboard_shown(start.plan.store, say, wish.shown):
                return await run_shown(crawl, outside, wish.view)
    finally:
        await transport.close()
        await media.close()


def _place(command: RerunCommand, store: str) -> str:
    """What `status` is told to look at the crawl. Under another name the file may mean another SQLite file."""
    return command.file if command.name is None or "://" in store else store


def _code(run: Run) -> int:
    if run.was_interrupted:
        return INTERRUPTED
    return FAILED if run.ending.state == CrawlState.FAILED else 0
