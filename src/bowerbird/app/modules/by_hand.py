"""A module run by hand, beside whatever runs the crawl: what it has asked waits in the frontier for those who do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import msgspec

from bowerbird.app.modules.questions import LaneQuestions
from bowerbird.app.modules.runners import judge_named, knows_place, runner_by_hand
from bowerbird.app.modules.stored import StoredThings
from bowerbird.crawl.life import registry
from bowerbird.crawl.life.plan_versions import joined
from bowerbird.crawl.process.claims import WorkerClaims
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.bookkeeping import LEASE_TIME
from bowerbird.crawl.work.lanes import Lane, Lanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import Busy, DiskFull, UserError
from bowerbird.flows.flow import Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.booked_ledgers import BookedLedgers
from bowerbird.model import Arrival, Page, Saved, Service, Task
from bowerbird.model.subjects.community import Community
from bowerbird.modules.running.context import Surroundings
from bowerbird.modules.running.found import KnownModules
from bowerbird.modules.running.runner import Ran
from bowerbird.modules.tending.retention import Retention
from bowerbird.policies.registry import WALKS, Place, ranker
from bowerbird.ports import Clock, Database, Judge, Messenger, Row, Transaction
from bowerbird.providers import provider
from bowerbird.settings import load_settings
from bowerbird.store import Store

_CRAWL = "select crawl, name, flow from crawls where name = ?"
_LANES = """
select l.lane, l.facet, s.name, s.provider, s.base from lanes l join services s on s.service = l.service where l.crawl = ?
order by l.lane
"""
_SIGN_EVERY = timedelta(seconds=20)


class _NoSeeder:
    """Of lanes that nobody asks here: no page will come."""

    def seed(self, facet: str, tasks: Sequence[Task], page: Page, saved: Saved) -> Sequence[Arrival]:
        return ()


async def stored_flow(tx: Transaction, name: str) -> tuple[int, Flow]:
    """Number and flow of a crawl, as its last start wrote them down."""
    row = await tx.fetch_one(_CRAWL, name)
    if row is None:
        raise UserError(f"there is no crawl {name!r} here")
    return row["crawl"], msgspec.json.decode(row["flow"], type=Flow)


async def stored_lanes(tx: Transaction, crawl: int, flow: Flow) -> Lanes:
    """The lanes of a crawl to which targets can be led from outside of its processes."""
    return Lanes({}, {row["lane"]: _lane(row, flow) for row in await tx.fetch(_LANES, crawl) if _is_asked(row, flow)})


def targets_by_hand(database: Database, crawl: int, flow: Flow, lanes: Lanes, worker: Callable[[], int]) -> Targets:
    """Adds targets for those who run the crawl, and asks nothing itself."""
    frontier = TaskFrontier(database, worker, lease=LEASE_TIME, call=LEASE_TIME)
    admission = Admission(database, crawl, lanes.waiting, flow.filters.max_users)
    return Targets(frontier, lanes, Scheduler(BookedLedgers()), admission, Store(database))


def check_trust(name: str, flow: Flow, *, has_file: bool) -> None:
    """Raises `UserError` where a store alone says which program to run, or whom to tell: it may be somebody else's."""
    says_whom = any(use.name == name and use.options for use in flow.modules)
    if not has_file and says_whom and getattr(KnownModules()[name], "tells", False):
        raise UserError(
            f"a store does not say what is run on this machine, and whom it tells: name the crawl file, "
            f"`bowerbird modules FILE run {name}`"
        )


async def run_from_store(database: Database, crawl: str, name: str, clock: Clock) -> Ran:
    """Runs a module of a crawl now, by all that the store says of it; raises `UserError` where that is not enough."""
    if name not in KnownModules():
        raise UserError(f"there is no module {name!r}")
    community = None
    # Most modules need no more than the store; a plan that cannot be read is told when the crawl is joined.
    with suppress(UserError):
        async with database.reading() as tx:
            community = (await joined(tx, crawl, "")).community
    async with surroundings_by_hand(database, crawl, clock, None, community) as (flow, around):
        check_trust(name, flow, has_file=False)
        if name == Retention.name and not any(use.name == name for use in flow.modules):
            raise UserError(f"the crawl file of {crawl} does not say what {name} may erase: it is run from a command line alone")
        return await runner_by_hand(name, flow, around).by_hand()


@asynccontextmanager
async def surroundings_by_hand(
    database: Database, name: str, clock: Clock, messenger: Messenger | None = None, community: Community | None = None
) -> AsyncIterator[tuple[Flow, Surroundings]]:
    """What a module of a crawl works with outside of its processes; meanwhile this process counts as alive. `community`: whom its
    judge is about, where the crawl file says it."""
    async with database.transaction() as tx:
        crawl, flow = await stored_flow(tx, name)
        lanes = await stored_lanes(tx, crawl, flow)
        # Under another name than the crawl's: it does not run the crawl, and keeps nobody from doing so.
        worker = await registry.enrol_worker(tx, f"modules of {name}", clock.now())
    targets = targets_by_hand(database, crawl, flow, lanes, lambda: worker)
    signs = asyncio.create_task(_give_signs(database, clock, worker))
    try:
        yield (
            flow,
            Surroundings(
                crawl=crawl,
                crawl_name=name,
                database=database,
                clock=clock,
                claims=WorkerClaims(lambda: worker),
                worker=lambda: worker,
                questions=LaneQuestions(database, lanes, targets, clock),
                stored=StoredThings(database),
                judge=partial(judge_named, partial(_judges, community)),
                knows_place=partial(knows_place, community),
                messenger=messenger,
            ),
        )
    finally:
        signs.cancel()
        async with database.transaction() as tx:
            await registry.end_workers(tx, [worker], clock.now())


def _judges(community: Community | None) -> Sequence[Judge]:
    # Loaded when somebody asks for it: it takes a while.
    from bowerbird.analysis.community.judge import community_judge

    return () if community is None else (community_judge(community, load_settings().cache_folder),)


async def _give_signs(database: Database, clock: Clock, worker: int) -> None:
    while True:
        await clock.sleep_until(clock.now() + _SIGN_EVERY)
        with suppress(Busy, DiskFull):
            async with database.transaction() as tx:
                await registry.heartbeat(tx, worker, clock.now())


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
        ranker=ranker(use.ranker, use.options, use.revisit, Place(facet, max_pages=use.max_pages)),
        seeder=_NoSeeder(),
    )
