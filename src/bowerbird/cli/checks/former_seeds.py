"""Seeds that were taken out of a crawl file: the user is told that they go on being collected, and how to end that."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from bowerbird.app import Outside, seed_meanings
from bowerbird.cli.asking import confirmed
from bowerbird.cli.checks.start import exists
from bowerbird.crawl.seeding.former import FormerSeeds, Target, put_to_rest, read_former, take_up
from bowerbird.crawl.seeding.homes import HomeServers, host_of
from bowerbird.crawl.work.bookkeeping import CALL_TIME, LEASE_TIME
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.tables import is_store
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.frontier import TaskFrontier
from bowerbird.policies.registry import WALKS
from bowerbird.ports import Clock, Database, Frontier
from bowerbird.providers import provider
from bowerbird.reports.next_steps.again import Again

_MOST_NAMED = 5
KEPT = "what was collected stays"


async def settle_former(plan: CrawlPlan, outside: Outside, again: Again, *, is_told: bool) -> list[str]:
    """Puts former seeds to rest where the user says so, takes up those that are named again, and answers what is to be said."""
    async with _store(plan, outside.clock) as database:
        if database is None:
            return []
        former = await _read(database, plan)
        is_dropped = bool(former.tasks) and (is_told or _is_wished(former))
        if former.back or is_dropped:
            async with database.transaction() as tx:
                await take_up(tx, former, outside.clock.now())
                if is_dropped:
                    await put_to_rest(tx, _frontier(database), former, outside.clock.now())
    if not former.tasks:
        return []
    if is_dropped:
        return [f"{_these(former)} {_are(former)} asked about no more: the crawl file no longer names {_them(former)}; {KEPT}."]
    return [f"{former_words(former)}. End that with `{again.line('--apply')}`; {KEPT}."]


async def former_seeds(plan: CrawlPlan, clock: Clock) -> FormerSeeds:
    """The seeds that a crawl goes on asking about although its file no longer names them."""
    async with _store(plan, clock) as database:
        return FormerSeeds() if database is None else await _read(database, plan)


def former_words(former: FormerSeeds) -> str:
    """What is the case, as a sentence."""
    go = "goes" if len(former.targets) == 1 else "go"
    return f"{_these(former)} {go} on being collected although the crawl file no longer names {_them(former)}"


def _is_wished(former: FormerSeeds) -> bool:
    """Asked only where somebody can answer; who says no is told again at the next start."""
    if not sys.stdin.isatty():
        return False
    return confirmed(f"{former_words(former)}. Ask about {_them(former)} no more ({KEPT})?", default=True)


def _these(former: FormerSeeds) -> str:
    count, more = len(former.targets), len(former.targets) - _MOST_NAMED
    names = ", ".join(former.targets[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return f"{count:,} former seed{'s' * (count != 1)} ({names})"


def _are(former: FormerSeeds) -> str:
    return "is" if len(former.targets) == 1 else "are"


def _them(former: FormerSeeds) -> str:
    return "it" if len(former.targets) == 1 else "them"


def _frontier(database: Database) -> Frontier:
    """Of a command, which leases nothing."""
    return TaskFrontier(database, lambda: 0, lease=LEASE_TIME, call=CALL_TIME)


@asynccontextmanager
async def _store(plan: CrawlPlan, clock: Clock) -> AsyncIterator[Database | None]:
    """The store of a crawl whose former seeds can be told; None where there is none.

    What a query chose cannot be told from what the file named, a walk does not come back to where it began, and keywords come and
    go by themselves.
    """
    is_walk = any(use.ranker in WALKS for use in plan.flow.facets)
    if plan.seeds.query is not None or is_walk or plan.flow.keywords is not None or not exists(plan.store):
        yield None
        return
    database = await open_database(plan.store, clock)
    try:
        yield database if await is_store(database, public(plan.store)) else None
    finally:
        await database.close()


async def _read(database: Database, plan: CrawlPlan) -> FormerSeeds:
    named = set(_named(plan))
    async with database.reading() as tx:
        return await read_former(tx, plan.name, named)


def _named(plan: CrawlPlan) -> Iterator[Target]:
    """What the file names: seeds, the words of its places, and what fills the gaps of its streams."""
    ground, services = seed_meanings(plan), [each.service for each in plan.services]
    homes = HomeServers({host_of(service): number for number, service in enumerate(services)})
    for seed in plan.seeds:
        home = homes.away_from(services[0], seed) if "@" in seed and "://" not in seed else None
        if home is not None:
            yield services[home.lane].name, home.target
        try:
            placed = ground.place(seed)
        except UserError:
            continue
        yield placed.service, placed.target
    yield from ((search.service, target) for search in plan.searches for target in search.targets)
    for each in plan.streams:
        speaks = provider(each.service.provider)
        yield from ((each.service.name, target) for target in speaks.fill_targets(each.subscription))
