"""Opens a crawl: its rows are written, then its engine, its parts and the process around them are put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial

from bowerbird.app.crawls import Crawl, Dispatch
from bowerbird.app.engine import Engine, engine_of
from bowerbird.app.opt_outs import heed_opt_outs
from bowerbird.app.parts import parts_of
from bowerbird.crawl.access.surveys import Survey
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.life.life import Life
from bowerbird.crawl.process.pacing import Pacing
from bowerbird.crawl.process.process import Process
from bowerbird.crawl.process.remarks import Remarks
from bowerbird.crawl.process.stop_rules import Brakes, StopRules
from bowerbird.crawl.work.spread import spread_of
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.budget import end_reason
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.reports.counting.hours import posts_by_hour
from bowerbird.starting.enrolling import Enrolled, Opening
from bowerbird.starting.outside import Outside
from bowerbird.starting.seeds import seeds_of
from bowerbird.store.opening import open_store

NO_EXTENSIONS = Extensions()
NOT_ASKED: Mapping[str, Survey] = {}


@asynccontextmanager
async def open_crawl(
    plan: CrawlPlan, outside: Outside, extensions: Extensions = NO_EXTENSIONS, asked: Mapping[str, Survey] = NOT_ASKED
) -> AsyncIterator[Crawl]:
    """Everything a crawl needs, wired; its rows exist in the database when this returns. `asked`: by service what it said of
    itself just now."""
    is_passing = outside.participation.is_passing
    async with open_store(plan.store, outside.clock, is_passing=is_passing) as database:
        await heed_opt_outs(plan, database, outside.clock)
        opening = Opening(plan, outside, database, extensions, RateLimits(pace=outside.is_paced))
        yield _crawl(opening, await opening.enrolled(asked))


def _crawl(opening: Opening, who: Enrolled) -> Crawl:
    gathered, engine = who.gathered, engine_of(opening, who)
    rules = _rules(opening, who, engine)
    return Crawl(
        plan=opening.plan,
        database=opening.database,
        number=who.crawl,
        process=_process(opening, who, engine, rules),
        seeds=seeds_of(opening.plan, gathered, opening.database, opening.outside.clock),
        tally=who.tally,
        ledgers=opening.ledgers,
        lanes=gathered.lanes,
        charges=gathered.charges,
        dispatch=Dispatch(source=engine.source, scheduler=engine.scheduler, rules=rules, log=who.log, me=who.me),
        notes=[str(note) for note in gathered.notes],
    )


def _rules(opening: Opening, who: Enrolled, engine: Engine) -> StopRules:
    """When the loop of calls has come to its end, with the parts that it runs beside."""
    plan, clock, gathered = opening.plan, opening.outside.clock, who.gathered
    parts = parts_of(opening, who, engine)
    streams = [each.needs for each in gathered.streams]

    def exhausted(calls_at: datetime | None, due: datetime | None) -> str:
        return end_reason(opening.ledgers, plan.name, streams, clock.now(), calls_at, due)

    brakes = Brakes(exhausted)
    spread = spread_of(plan.flow.stop, gathered.lanes.values(), gathered.charges)
    if spread is not None:
        pacing = Pacing(spread, engine.lanes, engine.scheduler, who.tally, clock)
        parts.append(pacing.part(partial(posts_by_hour, opening.database)))
        brakes = Brakes(exhausted, pacing.held_until)
    return StopRules(plan.flow.stop, who.tally, clock, parts, brakes)


def _process(opening: Opening, who: Enrolled, engine: Engine, rules: StopRules) -> Process:
    life = Life(engine.books, who.me, engine.lanes, engine.targets)
    remarks = Remarks(opening.database, opening.outside.clock)
    # A stream may bring what calls could not.
    if who.gathered.streams:
        return Process(life, engine.worker, rules, remarks)
    return Process(life, engine.worker, rules, remarks, engine.watch.prevented)
