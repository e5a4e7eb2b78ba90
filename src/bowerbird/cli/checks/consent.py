"""A crawl that can spend money asks once; the answer is kept with the crawl until it may spend more."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import datetime

from bowerbird.app import Outside
from bowerbird.cli.asking import confirmed
from bowerbird.cli.checks.start import exists
from bowerbird.crawl.life import consents
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.tables import is_store
from bowerbird.errors import BowerbirdError, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.planning.budget import Means, means_of
from bowerbird.planning.course import Course, hours_of
from bowerbird.planning.plan import USUAL, Inquiry, expected_dollars, in_words, likely_course
from bowerbird.planning.rehearsal import Scope
from bowerbird.ports import Clock, Database
from bowerbird.reports.consent import Wish, may_spend, read_agreed, wish_of

_SHORT = Scope(items=1_500, calls=500)
"""A rehearsal for which somebody waits at a prompt."""


async def check_consent(plan: CrawlPlan, outside: Outside, *, is_given: bool, say: Callable[[str], None]) -> Wish | None:
    """What somebody agreed to just now, to be kept with the crawl; None where there is nothing to agree to any more.

    Raises `UserError` when nobody does.
    """
    wish, means = wish_of(plan), means_of(plan)
    if wish is None or means is None:
        return None
    agreed = await agreed_to(plan, outside.clock)
    if agreed is not None and wish.is_within(agreed):
        return None
    if not is_given:
        await _ask(plan, outside, means, say, was_less=agreed is not None)
    return wish


async def keep_consent(database: Database, plan: CrawlPlan, wish: Wish, now: datetime) -> None:
    async with database.transaction() as tx:
        await consents.keep_consent(tx, plan.name, wish.in_all, wish.a_month, now)


async def agreed_to(plan: CrawlPlan, clock: Clock) -> Wish | None:
    """What somebody agreed to at an earlier start."""
    if not exists(plan.store):
        return None
    database = await open_database(plan.store, clock)
    try:
        if not await is_store(database, public(plan.store)):
            return None
        async with database.reading() as tx:
            return await read_agreed(tx, plan.name)
    finally:
        await database.close()


async def _ask(plan: CrawlPlan, outside: Outside, means: Means, say: Callable[[str], None], *, was_less: bool) -> None:
    may = may_spend(plan)
    if not sys.stdin.isatty():
        why = "may now spend more than somebody agreed to" if was_less else "costs money, and nobody has agreed to that yet"
        raise UserError(
            f"the crawl {plan.name} {why}: {may}.",
            "Start it once with --yes, or in a terminal; from then on it starts without. `bowerbird plan` says what it will cost",
            code="needs_agreement",
        )
    say(f"The crawl {plan.name} costs money: {may}.")
    say("Rehearsing it, to say what it will cost …")
    say(await asyncio.to_thread(_expected, plan, outside, means))
    if not confirmed("Go on?"):
        raise UserError("nothing was asked and nothing spent", "lower dollars in the crawl file, or see `bowerbird plan`")


def _expected(plan: CrawlPlan, outside: Outside, means: Means) -> str:
    """What a rehearsal says; one that cannot be made says that."""
    if plan.seeds.query is not None:
        return "What it will cost cannot be foreseen: its seeds are chosen when it starts."
    seeds = max(1, sum(1 for _ in plan.seeds))
    inquiry = Inquiry(seeds=seeds, credentials=tuple(outside.vault.credentials()), world=USUAL, scope=_SHORT)
    try:
        return _words(likely_course(plan, inquiry))
    except BowerbirdError as error:
        return f"What it will cost cannot be foreseen: {error}"


def _words(course: Course) -> str:
    spent = f"${expected_dollars(course):,.2f}"
    if course.is_spent and course.end is not None:
        return f"The plan expects about {spent}, after {in_words(hours_of(course.end[0]))}: {course.end[1]}."
    until = "in a month" if course.end is None else f"until it ends, after {in_words(hours_of(course.end[0]))}"
    return f"The plan expects about {spent} {until}."
