"""`bowerbird status`: says how a crawl stands, while it runs and afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import structs

from bowerbird.cli.hints import read_continue_commands
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.screens.sample_page import figure_values
from bowerbird.cli.screens.status_page import StatusPage, show_status
from bowerbird.cli.which import NamedStore, StoreArgument, crawl_of_file, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.limits.budget import is_budget
from bowerbird.ports import Clock
from bowerbird.reports.rerun import read_rerun_commands
from bowerbird.reports.status.health import Refusal
from bowerbird.reports.status.money import month_values, spent_values
from bowerbird.reports.status.status import read_status
from bowerbird.reports.studies.sample import read_samples


def command(place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Say how a crawl stands: its state and processes, what is stored, what waits, limits, errors. Changes nothing.

    Counts of large tables are estimates and carry a ~.
    """
    output = Output(as_json=as_json)
    found = find_store(place)
    page = asyncio.run(read_page(found, RealClock()))
    show_status(output, found, page)
    output.result(status_values(found, page))


async def read_page(place: NamedStore, clock: Clock) -> StatusPage:
    """Everything that the database of a place tells, and the commands that continue its crawls."""
    async with read_store(place, clock) as database:
        status = await read_status(database, clock.now())
        running = {process.crawl for process in status.processes}
        resting = [crawl for crawl in status.summary.crawls if crawl.name not in running]
        async with database.reading() as tx:
            vaults = [command.keys for command in (await read_rerun_commands(tx)).values() if command.keys]
            refusals = _still_there(status.health.refusals, vaults)
            commands = await read_continue_commands(tx, place, resting)
        return StatusPage(
            status=structs.replace(status, health=structs.replace(status.health, refusals=refusals)),
            samples=tuple(await read_samples(database, await crawl_of_file(database, place))),
            commands=commands,
        )


def _still_there(refusals: tuple[Refusal, ...], vaults: list[str]) -> tuple[Refusal, ...]:
    """The refused credentials that somebody may want to renew: not those that are no longer in the vault."""
    if not refusals:
        return ()
    from bowerbird.cli.keys.vaults import names_taken

    names = names_taken(vaults)
    return refusals if names is None else tuple(each for each in refusals if each.credential in names)


def status_values(place: NamedStore, page: StatusPage) -> dict[str, Any]:
    """The same for machines."""
    status = page.status
    summary: dict[str, Any] = msgspec.to_builtins(status.summary)
    for crawl in summary["crawls"]:
        crawl["flow"] = msgspec.json.decode(crawl["flow"])["name"]
        crawl |= spent_values(status.purses, crawl["name"])
        crawl["continue_with"] = page.commands.get(crawl["name"])
        crawl["seeds_left_alone"] = status.left_alone.get(crawl["crawl"], 0)
    summary["ledgers"] = [each for each in summary["ledgers"] if not is_budget(each["bucket"])]
    summary["months"] = month_values(status.purses)
    health: dict[str, Any] = msgspec.to_builtins(status.health)
    parts = {
        name: msgspec.to_builtins(getattr(status, name)) for name in ("processes", "streams", "gaps", "left_out", "keywords")
    }
    samples = [figure_values(sample) for sample in page.samples]
    return {"store": place.shown, "at": status.now, **summary, **health, **parts, "samples": samples}
