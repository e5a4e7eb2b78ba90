"""The lanes of a crawl as its store has them, for those who lead targets to it from outside of its processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.bookkeeping import LEASE_TIME
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Arrival, Page, Saved, Service, Task
from bowerbird.policies.registry import WALKS, RankerSetting, ranker
from bowerbird.ports import Database, Row, Transaction
from bowerbird.providers import provider
from bowerbird.store import Store

_CRAWL = "select crawl, name, flow from crawls where name = ?"
_LANES = """
select l.lane, l.facet, s.name, s.provider, s.base from lanes l join services s on s.service = l.service where l.crawl = ?
order by l.lane
"""


class _NoSeeder:
    """Of lanes that nobody asks here: no page will come."""

    def seed(self, facet: str, tasks: Sequence[Task], page: Page, saved: Saved) -> Sequence[Arrival]:
        return ()


async def stored_flow(tx: Transaction, name: str) -> tuple[int, Flow]:
    """Number and flow of a crawl, as its last start wrote them down."""
    row = await tx.fetch_one(_CRAWL, name)
    if row is None:
        raise UserError(f"there is no crawl {name!r} here", code="unknown_crawl")
    return row["crawl"], msgspec.json.decode(row["flow"], type=Flow)


async def stored_lanes(tx: Transaction, crawl: int, flow: Flow) -> ServedLanes:
    """The lanes of a crawl to which targets can be led from outside of its processes."""
    return ServedLanes({}, {row["lane"]: _lane(row, flow) for row in await tx.fetch(_LANES, crawl) if _is_asked(row, flow)})


def targets_by_hand(database: Database, crawl: int, flow: Flow, lanes: ServedLanes, worker: Callable[[], int]) -> Targets:
    """Adds targets for those who run the crawl, and asks nothing itself."""
    frontier = TaskFrontier(database, worker, lease=LEASE_TIME, call=LEASE_TIME)
    admission = Admission(database, crawl, lanes.waiting, flow.filters.max_users)
    return Targets(frontier, lanes, Scheduler(RateLimits()), admission, Store(database))


def _is_asked(row: Row, flow: Flow) -> bool:
    """Whether targets can be led to a lane from outside: walks go their own ways, and streams ask nothing. A lane may be there
    for a facet that the network had once."""
    is_used = any(use.name == row["facet"] and use.ranker not in WALKS for use in flow.facets)
    return is_used and row["facet"] in provider(row["provider"]).facets


def _lane(row: Row, flow: Flow) -> Lane:
    speaks, use = provider(row["provider"], base=row["base"]), flow.facet(row["facet"])
    facet = speaks.facets[use.name]
    return Lane(
        lane=row["lane"],
        service=Service(name=row["name"], provider=row["provider"], base=row["base"]),
        provider=speaks,
        facet=facet,
        ranker=ranker(use.ranker, use.options, use.revisit, RankerSetting(facet, max_pages=use.max_pages)),
        seeder=_NoSeeder(),
    )
