"""A module run by hand, beside whatever runs the crawl: what it has asked waits in the frontier for those who do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from bowerbird.crawl.life.plan_versions import joined
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.crawl.process.workers.visiting import visiting_worker
from bowerbird.crawl.seeding.questions import LaneQuestions
from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.model.subjects.community import Community
from bowerbird.modules.running.context import Surroundings
from bowerbird.modules.running.runner import Ran
from bowerbird.modules.running.runners import check_known, runner_by_hand
from bowerbird.modules.running.trust import check_erasing, check_trust
from bowerbird.ports import Clock, Database, Messenger
from bowerbird.starting.judges import community_judges, judge_named, knows_place
from bowerbird.starting.stored_lanes import stored_flow, stored_lanes, targets_by_hand
from bowerbird.store.for_modules import StoredThings
from bowerbird.store.people.keys import StoredKeys


async def run_from_store(database: Database, crawl: str, name: str, clock: Clock) -> Ran:
    """Runs a module of a crawl now, by all that the store says of it; raises `UserError` where that is not enough."""
    check_known(name)
    community = None
    # Most modules need no more than the store; a plan that cannot be read is told when the crawl is joined.
    with suppress(UserError):
        async with database.reading() as tx:
            community = (await joined(tx, crawl, "")).community
    async with surroundings_by_hand(database, crawl, clock, None, community) as (flow, around):
        check_trust(name, flow, has_file=False)
        check_erasing(name, crawl, flow)
        return await runner_by_hand(name, flow, around).by_hand()


@asynccontextmanager
async def surroundings_by_hand(
    database: Database, name: str, clock: Clock, messenger: Messenger | None = None, community: Community | None = None
) -> AsyncIterator[tuple[Flow, Surroundings]]:
    """What a module of a crawl works with outside of its processes. `community`: whom its judge is about, where the crawl file
    says it."""
    async with database.reading() as tx:
        crawl, flow = await stored_flow(tx, name)
        lanes = await stored_lanes(tx, crawl, flow)
    async with visiting_worker(database, clock, f"modules of {name}") as worker:
        targets = targets_by_hand(database, crawl, flow, lanes, lambda: worker)
        yield (
            flow,
            Surroundings(
                crawl=crawl,
                crawl_name=name,
                database=database,
                clock=clock,
                claims=WorkerClaims(lambda: worker),
                worker=lambda: worker,
                questions=LaneQuestions(StoredKeys(database), lanes, targets, clock),
                stored=StoredThings(database),
                judge=partial(judge_named, partial(community_judges, community)),
                knows_place=partial(knows_place, community),
                messenger=messenger,
            ),
        )
