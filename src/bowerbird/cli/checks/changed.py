"""A crawl file that was changed since its crawl began: what differs is shown, and applied when the user says so."""

from __future__ import annotations

import sys
from collections.abc import Callable

from msgspec import Struct

from bowerbird.app import Outside, SeedChanges
from bowerbird.cli.asking import confirmed
from bowerbird.cli.checks.start import exists
from bowerbird.cli.screens.amounts import numbers
from bowerbird.crawl.life.plan_versions import differences, document, held, refusal, told
from bowerbird.crawl.process.workers.running import Member, living
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.tables import is_store
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.ports import Clock
from bowerbird.reports.crawls import has_called
from bowerbird.reports.rerun import RerunCommand


class _Changed(Struct, frozen=True):
    """How a crawl file differs from the plan that its crawl follows."""

    changes: list[str]
    workers: list[Member]
    """Who follows it right now."""


async def applies(
    plan: CrawlPlan, outside: Outside, command: RerunCommand, *, is_told: bool, say: Callable[[str], None]
) -> bool | None:
    """Whether the file becomes the plan of the crawl where it differs, as `Outside.applies` has it; raises `UserError` where the
    user has to say so first."""
    found = await _changed(plan, outside.clock)
    if found is None:
        return True if is_told else None
    if not found.changes:
        return is_told
    if not is_told:
        _ask(plan, found, command)
    say(f"The changed file is the plan of {plan.name} from now on:\n{told(found.changes)}")
    return True


def _ask(plan: CrawlPlan, found: _Changed, command: RerunCommand) -> None:
    if found.workers or not sys.stdin.isatty():
        raise refusal(plan.name, found.changes, f"`{command.line('--apply')}`", _others(found.workers))
    what = f"{plan.name}: the file says something else than before:\n{told(found.changes)}\nGo on with the changed file?"
    if not confirmed(what, default=True):
        raise UserError("nothing was started", "put the file back as it was, or give it another name for a crawl of its own")


def _others(workers: list[Member]) -> str:
    if not workers:
        return ""
    names = ", ".join(f"process {member.pid} on {member.host}" for member in workers)
    return f"; {names} then ends in order and is to be started again"


def seeds_line(seeds: SeedChanges) -> str:
    """What `--apply` did to the seeds; empty if nothing."""
    retired = f"Retired {numbers.many(seeds.retired, 'seed')} that the crawl file no longer names."
    resumed = f"Resumed {numbers.many(seeds.resumed, 'seed')} that it names again."
    return " ".join([retired] * (seeds.retired > 0) + [resumed] * (seeds.resumed > 0))


async def changes(plan: CrawlPlan, clock: Clock) -> list[str]:
    """What a crawl file says that its crawl does not follow yet, one line each."""
    found = await _changed(plan, clock)
    return [] if found is None else found.changes


async def _changed(plan: CrawlPlan, clock: Clock) -> _Changed | None:
    """None for a crawl that has no plan yet, or none that matters: before its first call it is whatever its file says."""
    if not exists(plan.store):
        return None
    database = await open_database(plan.store, clock)
    try:
        if not await is_store(database, public(plan.store)):
            return None
        async with database.reading() as tx:
            known = await held(tx, plan.name)
            if known is None or not await has_called(tx, plan.name):
                return None
            workers = await living(tx, plan.name, clock.now())
        return _Changed(list(differences(known.document, document(plan))), workers)
    finally:
        await database.close()
