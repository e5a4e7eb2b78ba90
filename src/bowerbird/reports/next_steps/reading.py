"""Reads how a crawl stands, as far as it matters for what a user can do next."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.life.plan_versions import held
from bowerbird.flows.flow import Size
from bowerbird.limits.budget import budget_statuses
from bowerbird.limits.rate_limits import read_buckets
from bowerbird.model import TaskState
from bowerbird.ports import Transaction
from bowerbird.reports.next_steps.again import Again
from bowerbird.reports.next_steps.agreed import read_agreed
from bowerbird.reports.next_steps.deciding import Ended
from bowerbird.reports.status.left_out import read_left_out
from bowerbird.reports.status.summary import CrawlReport, LaneReport

_WAITING = (TaskState.WAITING, TaskState.LEASED)


async def read_ended(tx: Transaction, crawl: CrawlReport, lanes: tuple[LaneReport, ...], again: Again, now: datetime) -> Ended:
    """The facts from which `next_step` decides; `again`: how it is called again."""
    known = await held(tx, crawl.name)
    row = await registry.read_crawl(tx, crawl.crawl)
    size = Size(calls=row.calls, items=row.items, users=row.users, posts=row.posts)
    own = [lane for lane in lanes if lane.crawl == crawl.name]
    return Ended(
        state=crawl.state,
        reason=crawl.reason,
        size=structs.replace(size, elapsed=await registry.time_run(tx, crawl.name)),
        waiting=frozenset((lane.service, lane.facet) for lane in own if _has_questions(lane)),
        purses=budget_statuses(await read_buckets(tx), now),
        agreed=await read_agreed(tx, crawl.name),
        followed=known.document if known and row.calls else None,
        left_out=tuple(await read_left_out(tx, crawl.name)),
        touched=tuple(again.touched_since(crawl.updated_at)),
        half_width=(msgspec.json.decode(crawl.flow).get("stop") or {}).get("half_width"),
        now=now,
    )


def _has_questions(lane: LaneReport) -> bool:
    return lane.left_out is None and any(lane.tasks[state].value for state in _WAITING if state in lane.tasks)
