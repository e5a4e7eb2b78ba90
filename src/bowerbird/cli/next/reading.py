"""Reads from a store what a user can do next about its crawls."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from bowerbird.cli.next.again import Again, again_of
from bowerbird.cli.next.step import Step
from bowerbird.cli.which import Place
from bowerbird.crawl.life import registry
from bowerbird.flows.flow import Size
from bowerbird.limits.purses import purses
from bowerbird.limits.rows import read_all
from bowerbird.ports import Database, Transaction
from bowerbird.reports.reader import Reader
from bowerbird.reports.summary import CrawlState, LaneState

if TYPE_CHECKING:
    from bowerbird.cli.next.deciding import Ended
    from bowerbird.flows.files.crawl_file import CrawlPlan

_WAITING = ("waiting", "leased")


async def steps_of(database: Database, place: Place, now: datetime) -> dict[str, Step]:
    """By crawl of a place: what to do next."""
    # Imported when there is something to decide: `pause` and its like are asked for often, and must be there at once.
    from bowerbird.cli.next.deciding import next_step

    reader = Reader(database)
    crawls, lanes = await reader.crawls(), await reader.lanes()
    async with database.reading() as tx:
        found = {}
        for crawl in crawls:
            again = await again_of(tx, place, crawl.name)
            ended = await _ended(tx, crawl, lanes, again, now)
            found[crawl.name] = next_step(again.plan(place.store, crawl.name), again, ended)
        return found


async def step_after(database: Database, plan: CrawlPlan, again: Again, now: datetime) -> Step:
    """What to do after a run; `plan`: what its file says, without the limits that the command line gave this run."""
    from bowerbird.cli.next.deciding import Ended, next_step

    reader = Reader(database)
    crawl, lanes = await reader.crawl(plan.name), await reader.lanes()
    if crawl is None:
        return next_step(plan, again, Ended(state="stopped", now=now))
    async with database.reading() as tx:
        return next_step(plan, again, await _ended(tx, crawl, lanes, again, now))


async def _ended(tx: Transaction, crawl: CrawlState, lanes: tuple[LaneState, ...], again: Again, now: datetime) -> Ended:
    from bowerbird.cli.checks.agreed import read_agreed
    from bowerbird.cli.next.deciding import Ended
    from bowerbird.crawl.life.not_asked import read_left_out
    from bowerbird.crawl.life.plan_versions import held

    known = await held(tx, crawl.name)
    row = await registry.read_crawl(tx, crawl.crawl)
    size = Size(calls=row.calls, items=row.items, users=row.users, posts=row.posts)
    own = [lane for lane in lanes if lane.crawl == crawl.name]
    return Ended(
        state=crawl.state,
        reason=crawl.reason or "",
        size=structs.replace(size, elapsed=await registry.time_run(tx, crawl.name)),
        waiting=frozenset((lane.service, lane.facet) for lane in own if _has_questions(lane)),
        purses=purses(await read_all(tx), now),
        agreed=await read_agreed(tx, crawl.name),
        followed=known.document if known and row.calls else None,
        left_out=tuple(await read_left_out(tx, crawl.name)),
        touched=tuple(again.touched_since(crawl.updated_at)),
        half_width=(msgspec.json.decode(crawl.flow).get("stop") or {}).get("half_width"),
        now=now,
    )


def _has_questions(lane: LaneState) -> bool:
    return lane.left_out is None and any(lane.tasks[state].value for state in _WAITING if state in lane.tasks)
