"""`bowerbird doctor`: checks the set-up and says what is wrong and what to do."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.checks import OK, PROBLEM, Check, local_checks
from bowerbird.cli.credentials import VaultOption, open_vault
from bowerbird.cli.output import JsonFlag, Output
from bowerbird.model import Service
from bowerbird.settings import load_settings

_SIGNS = {OK: ("✓", "green"), "warning": ("!", "yellow"), PROBLEM: ("✗", "red")}


def command(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A crawl file: its services and its database are checked too.")
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="A database to reach: postgresql://… or a file.")
    ] = None,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Check Python, SQLite, disk, folders, vault and clock, and with a crawl file its services and database.

    Ends with exit code 1 if there is a problem; warnings do not count.
    """
    settings, output = load_settings(vault=vault), Output(as_json=as_json)
    checks = local_checks(settings, open_vault(settings))
    services, store = _named_in(file) if file else ([], None)
    if services or store or database:
        from bowerbird.cli.reach import network_checks

        checks += asyncio.run(network_checks(services, database or store, settings.user_agent))
    for check in checks:
        _show(output, check)
    problems = sum(check.verdict == PROBLEM for check in checks)
    output.line("Everything is in order." if not problems else f"{problems} problem{'s' * (problems != 1)} to solve.")
    output.result({"ok": not problems, "checks": [asdict(check) for check in checks]})
    raise typer.Exit(1 if problems else 0)


def _named_in(file: Path) -> tuple[list[Service], str | None]:
    # Imported here: without a file, the doctor must run even where the rest cannot.
    from bowerbird.app import vocabulary
    from bowerbird.crawl.files.crawl_file import read_crawl_file

    plan = read_crawl_file(file, vocabulary())
    return [one.service for one in plan.services], plan.store if plan.store.startswith("postgres") else None


def _show(output: Output, check: Check) -> None:
    sign, style = _SIGNS[check.verdict]
    output.line(f"{sign} {check.name}: {check.found}", style=style if check.verdict != OK else None)
    if check.advice:
        output.line(f"  → {check.advice}")
