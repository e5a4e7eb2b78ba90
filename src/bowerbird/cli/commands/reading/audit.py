"""`bowerbird audit`: how much of what members wrote is stored, asked of the network itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random, SystemRandom
from typing import Annotated

import msgspec
import typer

from bowerbird.app import Outside
from bowerbird.app.audits import audit_posts
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.module_screens.auditing import show_audited
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.store_addresses import read_plan
from bowerbird.clock import RealClock
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.ports import Vault
from bowerbird.reports.audits import Audited
from bowerbird.settings import Settings, load_settings
from bowerbird.studies.audits import AuditOptions
from bowerbird.transport import HttpTransport

app = typer.Typer(help="Ask the network again, to know how much of it is stored.", no_args_is_help=True)


@app.callback()
def _audit() -> None:
    """Ask the network again, to know how much of it is stored."""


@app.command()
def posts(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The crawl file.")],
    accounts: Annotated[int, typer.Option("--accounts", min=1, help="How many random members are asked about.")] = 200,
    newest: Annotated[int, typer.Option("--newest", min=1, help="How many posts of each are asked for at most.")] = 200,
    judge: Annotated[
        str, typer.Option("--judge", help="Whose yes makes an account a member, where it has spoken.")
    ] = "community",
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The crawl, where it was run under another name.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Draw the same accounts as another audit with this number.")] = None,
    dollars: Annotated[
        float | None, typer.Option("--dollars", min=0.001, help="What it may spend, where posts cost money.")
    ] = None,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask for up to 200 recent posts of random members again, and say which part of them is stored: over all posts and as a mean
    over accounts, by how much they write, with 95 % intervals.

    It calls within the limits of the crawl and with its credentials, also while the crawl runs, and saves nothing. Posts count
    from when the crawl first knew an account up to its last look at it. The result goes into the dataset card.
    """
    settings, output = load_settings(vault=vault), Output(as_json=as_json)
    opened = open_vault(settings)
    plan = read_plan(file, (), opened, name, may_lack_seeds=True)
    lots = SystemRandom() if seed is None else Random(seed)  # noqa: S311 who names a seed wants the same accounts again
    options = AuditOptions(accounts=accounts, newest=newest, judge=judge, random=lots, dollars=dollars)
    output.progress(f"Asking for the latest {newest:,} posts of up to {accounts:,} accounts again.")
    found = asyncio.run(_audited(plan, settings, opened, options))
    show_audited(output, found)
    output.result(msgspec.to_builtins(found))


async def _audited(plan: CrawlPlan, settings: Settings, vault: Vault, options: AuditOptions) -> Audited:
    clock = RealClock()
    transport = HttpTransport(clock, load_settings(contact=plan.contact or settings.contact).user_agent)
    try:
        return await audit_posts(plan, Outside(clock=clock, transport=transport, vault=vault), options)
    finally:
        await transport.close()
