"""A crawl file under another name would start another crawl, in the same store or in one of its own, ask everything again and,
in a store of its own, spend as much again: that is said first."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from bowerbird.app import Outside, seed_meanings
from bowerbird.cli.asking import confirmed
from bowerbird.cli.checks.start import exists
from bowerbird.cli.screens.amounts.money import month_words
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.files.nearby import stores_in
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.versions import newest, version_of
from bowerbird.errors import BowerbirdError, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.budget import BudgetStatus, budget_statuses
from bowerbird.limits.rate_limits import read_buckets
from bowerbird.ports import Clock, Database
from bowerbird.reports.crawls import has_asked_about, read_settings
from bowerbird.reports.next_steps.costs import paid_services
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.money import months
from bowerbird.reports.status.summary import CrawlReport

T = TypeVar("T")


class Begun(Struct, frozen=True):
    """A crawl that a file seems to have begun under another name."""

    crawl: CrawlReport
    store: str
    is_asked: bool
    """Whether it has asked about the same first seed."""
    spent: str = ""
    """On services that cost money, by its store in this month."""

    def what(self, plan: CrawlPlan) -> str:
        """What there is, and what starting would mean."""
        made = f"with {self.crawl.calls:,} calls made{f' ({self.spent})' if self.spent else ''}"
        alike = "flow and seeds" if self.is_asked else "flow and service"
        held = f"{public(self.store)} holds the crawl {self.crawl.name!r} of the same {alike}, {made}"
        if self.store == plan.store:
            return f"{held}; {plan.name!r} would be another one beside it and ask everything again"
        money = " and spend as much again" if self.spent else ""
        return f"{held}; {plan.name!r} would begin anew in {public(plan.store)}, ask everything again{money}"

    def ways(self, plan: CrawlPlan) -> str:
        """How to go on with it, and how to begin another."""
        name, new = self.crawl.name, f"begin another by --as {plan.name}"
        if self.is_named_by(plan):
            return f'Go on with the old one by --as {name} (or name = "{name}" in the crawl file), or {new}'
        lines = f'store = "{Path(self.store).name}" and name = "{name}"'
        return f"Go on with the old one by writing {lines} in the crawl file, or {new}"

    def is_named_by(self, plan: CrawlPlan) -> bool:
        """Whether its name alone leads to it."""
        return self.store == plan.store or Path(self.store).name == f"{self.crawl.name}.db"


async def as_known(plan: CrawlPlan, outside: Outside) -> CrawlPlan:
    """The plan, under the name of the crawl that it was begun as if the user says so.

    Raises `UserError` where nobody can be asked.
    """
    known = await begun_as(plan, outside.clock)
    if known is None:
        return plan
    what = known.what(plan)
    if not sys.stdin.isatty() or not known.is_named_by(plan):
        raise UserError(f"{what}. Was the file renamed? {known.ways(plan)}")
    is_meant = confirmed(f"{what[0].upper()}{what[1:]}. Go on with {known.crawl.name!r} instead?", default=True)
    return structs.replace(plan, name=known.crawl.name, store=known.store) if is_meant else plan


async def begun_as(plan: CrawlPlan, clock: Clock) -> Begun | None:
    """What the crawl of a file seems to have been begun as; None where it has its own in its store, or is a new one.

    A store is looked for beside the one that is named after the crawl: one that the file names is the user's own choice.
    """
    if exists(plan.store):
        async with _opened(plan.store, clock) as database:
            return await _in_store(plan, plan.store, clock, database) if database else None
    for store in () if plan.names_store else _beside(plan):
        if found := await _looked_at(store, clock, partial(_in_store, plan, store, clock)):
            return found
    return None


async def spent_elsewhere(plan: CrawlPlan, clock: Clock) -> list[str]:
    """What other stores of the folder have spent in this month on the services of a crawl: its own store does not count it."""
    beside = _beside(plan) if paid_services(plan) else []
    spent = [(store, await _looked_at(store, clock, partial(_spent, plan, clock))) for store in beside]
    return [f"{public(store)} has spent {words}, which is not counted here" for store, words in spent if words]


def _beside(plan: CrawlPlan) -> list[str]:
    own = Path(plan.store)
    if "://" in plan.store or not own.parent.is_dir():
        return []
    return [str(path) for path in stores_in(own.parent) if path.name != own.name]


@asynccontextmanager
async def _opened(store: str, clock: Clock) -> AsyncIterator[Database | None]:
    """A store of any version; None for another database."""
    database = await open_database(store, clock)
    try:
        yield database if await version_of(database) is not None else None
    finally:
        await database.close()


async def _looked_at(store: str, clock: Clock, look: Callable[[Database], Awaitable[T]]) -> T | None:
    """What there is to see in a store of the folder; nothing where it cannot be read: a damaged one is no reason not to start."""
    try:
        async with _opened(store, clock) as database:
            return await look(database) if database else None
    except (BowerbirdError, sqlite_module().Error):
        return None


async def _in_store(plan: CrawlPlan, store: str, clock: Clock, database: Database) -> Begun | None:
    crawls = await Reader(database).crawls()
    is_own = store == plan.store
    if is_own and any(each.name == plan.name for each in crawls):
        return None
    for crawl in crawls:
        if not crawl.calls or msgspec.json.decode(crawl.flow)["name"] != plan.flow.name:
            continue
        told = await _told(database, crawl)
        if not is_own and not _is_of_service(plan, told):
            continue
        is_asked = await _asked_about(database, plan, crawl)
        if is_asked or (not is_own and _has_lost_file(plan, crawl, store, told)):
            return Begun(crawl, store, is_asked, await _spent(plan, clock, database))
    return None


async def _told(database: Database, crawl: CrawlReport) -> dict[str, Any]:
    async with database.reading() as tx:
        return (await read_settings(tx)).get(crawl.name, {})


def _is_of_service(plan: CrawlPlan, told: dict[str, Any]) -> bool:
    known = {(each.get("provider"), each.get("base")) for each in told.get("services", ())}
    return not known or any((each.service.provider, each.service.base) in known for each in plan.services)


def _has_lost_file(plan: CrawlPlan, crawl: CrawlReport, store: str, told: dict[str, Any]) -> bool:
    """Whether the crawl's own file is gone, or is the one that is about to be run: a copy leaves the first in place."""
    usual = Path(store).with_name(f"{crawl.name}.toml")
    file = (told.get("called") or {}).get("file") or str(usual)
    return file == plan.called.get("file") or not (Path(file).is_file() or usual.is_file())


async def _spent(plan: CrawlPlan, clock: Clock, database: Database) -> str:
    services = {each.service.name for each in paid_services(plan)}
    # An older store has no purses yet.
    if not services or await version_of(database) != newest():
        return ""
    async with database.reading() as tx:
        found: list[BudgetStatus] = months(budget_statuses(await read_buckets(tx), clock.now()))
    return ", ".join(month_words(each, clock.now()) for each in found if each.of in services and each.spent)


async def _asked_about(database: Database, plan: CrawlPlan, crawl: CrawlReport) -> bool:
    try:
        seed = next(iter(plan.seeds), None)
        target = seed_meanings(plan).place(seed).target if seed is not None else None
    except BowerbirdError:
        return False
    if target is None:
        return False
    async with database.reading() as tx:
        return await has_asked_about(tx, crawl.crawl, target)
