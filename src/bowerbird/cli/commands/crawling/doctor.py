"""`bowerbird doctor`: checks the set-up and says what is wrong and what to do."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bowerbird.cli.checks.machine import OK, PROBLEM, WARNING, Check, check_space, check_writing, local_checks
from bowerbird.cli.commands.crawling.credentials import VaultOption, open_vault
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.errors import UserError
from bowerbird.limits.vault import FileVault
from bowerbird.model.command_lines import command_line
from bowerbird.settings import Settings, load_settings

if TYPE_CHECKING:
    from bowerbird.cli.checks.spending import Spending
    from bowerbird.flows.files.crawl_file import CrawlPlan

_SIGNS = {OK: ("✓", "green"), WARNING: ("!", "yellow"), PROBLEM: ("✗", "red")}


def command(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A crawl file: its services, streams and database are checked too.")
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="A database to reach: postgresql://… or a file.")
    ] = None,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Check Python, SQLite, disk, folders, vault and clock, and with a crawl file its services, streams and database.

    Ends with exit code 1 if there is a problem; warnings do not count.
    """
    output, opened = Output(as_json=as_json), open_vault(load_settings(vault=vault))
    plan, faults = _plan(file, opened) if file else (None, [])
    settings = load_settings(vault=vault, contact=(plan.contact or None) if plan else None)
    spending = _spending(plan) if plan else None
    checks = local_checks(settings, opened, dict.fromkeys(one.service.provider for one in plan.services) if plan else ())
    checks += faults
    if plan and (folder := _folder(plan)) is not None:
        checks += [check_space(folder, "disk of the store", "free some space, or write store = … on a larger disk")]
        checks += [check_writing("folder of the store", folder, "change its permissions, or write another store = …")]
    if plan and spending:
        checks += [*spending.checks(plan), *_changed(plan, file)]
    if plan or database:
        checks += _remote_checks(plan, database, settings, opened)
    for check in checks:
        _show(output, check)
    problems = sum(check.verdict == PROBLEM for check in checks)
    output.line(_verdict(problems, sum(check.verdict == WARNING for check in checks)))
    money = spending.values(plan) if plan and spending else {}
    output.result({"ok": not problems, "checks": [asdict(check) for check in checks], **money})
    raise typer.Exit(1 if problems else 0)


def _verdict(problems: int, warnings: int) -> str:
    if problems:
        return f"{problems} problem{'s' * (problems != 1)} to solve."
    if warnings:
        return f"No problem, but {warnings} thing{'s' * (warnings != 1)} to know."
    return "Everything is in order."


def _plan(file: Path, vault: FileVault) -> tuple[CrawlPlan | None, list[Check]]:
    """The crawl of a file, or what is wrong with that file: one problem among others."""
    # Imported here: without a file, the doctor must run even where the rest cannot.
    from bowerbird.cli.store_addresses import read_plan

    try:
        return read_plan(file, vault=vault), []
    except UserError as error:
        if not file.is_file():
            raise
        advice = error.advice or "mend it, and look again at the rest of the crawl"
        return None, [Check("crawl file", PROBLEM, error.problem, advice)]


def _folder(plan: CrawlPlan) -> Path | None:
    """Where the store lies, if it is a file."""
    return None if "://" in plan.store else Path(plan.store).absolute().parent


def _spending(plan: CrawlPlan) -> Spending:
    from bowerbird.cli.checks.spending import read_spending

    return asyncio.run(read_spending(plan))


def _changed(plan: CrawlPlan, file: Path | None) -> list[Check]:
    """Whether the file says something else than its crawl follows: the next start would ask, or say so."""
    from bowerbird.cli.checks.changed import changes
    from bowerbird.clock import RealClock
    from bowerbird.crawl.life.plan_versions import told

    if not (found := asyncio.run(changes(plan, RealClock()))):
        return []
    differs = f"the crawl follows another one than its file says now:\n{told(found)}"
    line = command_line("crawl", str(file), "--apply")
    return [Check("plan of the crawl", WARNING, differs, f"apply the changed file with `{line}`; what was collected stays")]


def _remote_checks(plan: CrawlPlan | None, database: str | None, settings: Settings, vault: FileVault) -> list[Check]:
    """What must be asked over the network, and whom streams would be opened as."""
    from bowerbird.cli.checks.reach import check_credentials, check_streams, network_checks

    places = {f"service {one.service.name}": one.service for one in plan.services} if plan else {}
    known = {place.base for place in places.values()}
    # Many networks stream from another host than they answer from.
    places |= (
        {f"host of stream {each.subscription.name}": each.host for each in plan.streams if each.host.base not in known}
        if plan
        else {}
    )
    store = plan.store if plan and plan.store.startswith("postgres") else None
    return [
        *([*check_credentials(plan, vault), *check_streams(plan, vault)] if plan else []),
        *asyncio.run(network_checks(places, database or store, settings.user_agent)),
        *(asyncio.run(_server_checks(plan, settings, vault)) if plan else []),
    ]


async def _server_checks(plan: CrawlPlan, settings: Settings, vault: FileVault) -> list[Check]:
    from bowerbird.app import Outside
    from bowerbird.cli.checks.reach import server_checks
    from bowerbird.clock import RealClock
    from bowerbird.transport import HttpTransport

    clock = RealClock()
    transport = HttpTransport(clock, settings.user_agent)
    try:
        return await server_checks(plan, Outside(clock=clock, transport=transport, vault=vault))
    finally:
        await transport.close()


def _show(output: Output, check: Check) -> None:
    sign, style = _SIGNS[check.verdict]
    output.line(f"{sign} {check.name}: {check.found}", style=style if check.verdict != OK else None)
    if check.advice:
        output.line(f"  → {check.advice}")
