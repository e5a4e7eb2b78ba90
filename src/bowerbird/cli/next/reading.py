"""What a user can do next about the crawls of a place."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bowerbird.cli.next.again import again_of, plan_of
from bowerbird.cli.which import NamedStore
from bowerbird.model import CrawlState
from bowerbird.ports import Database
from bowerbird.reports.next_steps.again import Again
from bowerbird.reports.next_steps.step import Step
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.summary import LaneReport

if TYPE_CHECKING:
    from bowerbird.flows.files.crawl_file import CrawlPlan


async def steps_of(
    database: Database, place: NamedStore, now: datetime, lanes: tuple[LaneReport, ...] | None = None
) -> dict[str, Step]:
    """By crawl of a place: what to do next; `lanes`: those of the store, where they were read already."""
    # Imported when there is something to decide: `pause` and its like are asked for often, and must be there at once.
    from bowerbird.reports.next_steps.deciding import next_step
    from bowerbird.reports.next_steps.reading import read_ended

    reader = Reader(database)
    crawls, known = await reader.crawls(), await reader.lanes() if lanes is None else lanes
    async with database.reading() as tx:
        found = {}
        for crawl in crawls:
            again = await again_of(tx, place, crawl.name)
            ended = await read_ended(tx, crawl, known, again, now)
            found[crawl.name] = next_step(plan_of(again, place.store, crawl.name), again, ended)
        return found


async def step_after(database: Database, plan: CrawlPlan, again: Again, now: datetime) -> Step:
    """What to do after a run; `plan`: what its file says, without the limits that the command line gave this run."""
    from bowerbird.reports.next_steps.deciding import Ended, next_step
    from bowerbird.reports.next_steps.reading import read_ended

    reader = Reader(database)
    crawl, lanes = await reader.crawl(plan.name), await reader.lanes()
    if crawl is None:
        return next_step(plan, again, Ended(state=CrawlState.STOPPED, now=now))
    async with database.reading() as tx:
        return next_step(plan, again, await read_ended(tx, crawl, lanes, again, now))
