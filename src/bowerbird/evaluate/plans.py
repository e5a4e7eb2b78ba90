"""Does what `bowerbird plan` says come true? Plans of four flows against crawls of all their seeds in other worlds.

A plan rehearses a part of the seeds in worlds of its own; the crawls ask simulated services with their real limits, about
accounts and posts chosen at random. What is alike is only how lively the worlds are, as a probe would have found out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct, structs

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Credential
from bowerbird.planning.course import CAUGHT_UP
from bowerbird.planning.plan import Inquiry, hours, likely_course
from bowerbird.planning.rehearsal import Scope
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.settings import to_ms

ALLOWED = 0.2
_FIGURES = ("calls", "hours", "items")
_RECENT = timedelta(days=90)
_GLANCE = timedelta(seconds=5)
_WAITING = "select count(*) as tasks, coalesce(sum(state in ('waiting', 'leased')), 0) as waiting from tasks"

Say = Callable[[str], None]


class Case(Struct, frozen=True, kw_only=True):
    """A crawl to plan and then to run."""

    flow: str
    """Lines of a crawl file."""
    seeds: int
    accounts: int = 2_000
    """In the world that is crawled."""
    is_about_posts: bool = False
    length: timedelta = timedelta(days=2)


CASES = {
    "timelines": Case(flow='flow = "timelines"', seeds=400),
    "graph": Case(flow='flow = "graph"\nfilters.max_depth = 1', seeds=500, accounts=20_000),
    "hydrate": Case(flow='flow = "hydrate"', seeds=9_000, is_about_posts=True),
    "cascades": Case(flow='flow = "cascades"', seeds=1_500, is_about_posts=True),
}


def evaluate_plans(
    only: Sequence[str] = tuple(CASES), *, scale: float = 1.0, seed: int = 1, dialect: str = "mastodon", say: Say = print
) -> dict[str, Any]:
    """By flow what was planned, what happened, and the difference as a part of what happened; `scale`: of the seeds."""
    flows = {}
    for name in only:
        case = CASES[name]
        smaller = structs.replace(case, seeds=max(1, round(case.seeds * scale)), accounts=max(100, round(case.accounts * scale)))
        flows[name] = _compared(smaller, seed, dialect)
        say(f"{name}: " + ", ".join(f"{what} off by {flows[name]['error'][what]:.1%}" for what in _FIGURES))
    worst = max(error for each in flows.values() for error in each["error"].values())
    return {"flows": flows, "worst": round(worst, 4), "allowed": ALLOWED, "is_good": worst <= ALLOWED}


def world(seed: int, accounts: int = 2_000) -> WorldSettings:
    """Short histories, so that a crawl of all seeds does not take an hour."""
    return WorldSettings(seed=seed, accounts=accounts, history=timedelta(days=5), longest_history=150)


def _compared(case: Case, seed: int, dialect: str) -> dict[str, dict[str, float]]:
    happened: dict[str, float]
    plan, credentials, happened = run_virtual(lambda clock: _happened(case, seed + 1_000, dialect, clock), start=world(1).start)
    inquiry = Inquiry(
        seeds=case.seeds, credentials=credentials, world=world(seed, min(case.accounts, 2_000)), scope=Scope(length=case.length)
    )
    likely = likely_course(plan, inquiry)
    planned = {what: likely.count(what, case.length) for what in ("calls", "items")} | {"hours": hours(likely)}
    error = {what: abs(planned[what] - happened[what]) / max(happened[what], 1e-9) for what in _FIGURES}
    return {
        "planned": {what: round(planned[what], 4) for what in _FIGURES},
        "happened": {what: round(happened[what], 4) for what in _FIGURES},
        "error": {what: round(error[what], 4) for what in _FIGURES},
    }


async def _happened(
    case: Case, seed: int, dialect: str, clock: VirtualClock
) -> tuple[CrawlPlan, tuple[Credential, ...], dict[str, float]]:
    laboratory = Laboratory(Setup(dialect=dialect, world=world(seed, case.accounts)), clock)
    seeds = posts_of(laboratory, case.seeds) if case.is_about_posts else laboratory.keys(case.seeds)
    plan = laboratory.plan(f'{case.flow}\nstop.duration = "{case.length.days}d"', seeds)
    async with laboratory.crawl(plan) as crawl:
        began = clock.now()
        catching_up = asyncio.create_task(_caught_up(crawl, clock))
        await laboratory.run(crawl)
        took = clock.now() - began if clock.now() < began + case.length else await catching_up
        catching_up.cancel()
        figures = {"calls": crawl.tally.calls, "items": crawl.tally.items, "hours": took / timedelta(hours=1)}
    return plan, tuple(laboratory.outside().vault.credentials()), figures


async def _caught_up(crawl: Crawl, clock: VirtualClock) -> timedelta:
    """How long it takes until hardly anything waits."""
    began = clock.now()
    while True:
        await clock.sleep_until(clock.now() + _GLANCE)
        async with crawl.database.reading() as tx:
            row = (await tx.fetch(_WAITING))[0]
        if row["waiting"] <= CAUGHT_UP * row["tasks"]:
            return clock.now() - began


def posts_of(laboratory: Laboratory, count: int) -> Sequence[str]:
    """Posts of the last months, chosen at random, deleted ones among them."""
    service = laboratory.service
    start, seed = service.world.settings.start, service.world.settings.seed
    since, until = to_ms(start - _RECENT), to_ms(start)
    rows = [row for account in range(len(service.world)) for row in service.world.all_rows(account, since, until)]
    chosen = sorted((row.number for row in rows), key=lambda number: mix(number, seed))[:count]
    return [service.dialect.post_key(number) for number in chosen]
