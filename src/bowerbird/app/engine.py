"""The engine of a crawl put together: who hands out calls, who makes them, and who writes down what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.access.signing import Caller, Signer
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.work.bookkeeping import CALL_TIME, LEASE_TIME, Bookkeeping
from bowerbird.crawl.work.lanes import ServedLanes, add_turns
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.servers.server_watch import ServerWatch
from bowerbird.crawl.work.settling import Settler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.crawl.work.targets import Targets
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import login_charges, renewal_charges
from bowerbird.ports import Judge
from bowerbird.ports import Store as StorePort
from bowerbird.starting.enrolling import Enrolled, Opening
from bowerbird.starting.gathered import Gathered
from bowerbird.starting.judges import judges_of
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore
from bowerbird.store.posts.listed import is_compared


class Engine(Struct, frozen=True, kw_only=True):
    """What makes the calls of a crawl, and what its parts share with it."""

    books: Bookkeeping
    lanes: ServedLanes
    scheduler: Scheduler
    signer: Signer
    store: StorePort
    judges: Sequence[Judge]
    targets: Targets
    watch: ServerWatch
    source: LocalWorkSource
    worker: Worker


def engine_of(opening: Opening, who: Enrolled) -> Engine:
    gathered, outside = who.gathered, opening.outside
    lanes, scheduler = ServedLanes(gathered.lanes, gathered.waiting), _scheduler(opening, gathered)
    judges = judges_of(opening.plan, opening.extensions.judges)
    books, signer, store = _books(opening, who), _signer(opening), _store(opening, who, judges)
    targets = Targets(books.frontier, lanes, scheduler, who.admission, store)
    watch = ServerWatch(lanes, scheduler, books.frontier, signer.names)
    source = LocalWorkSource(books, lanes, scheduler, watch, Settler(books, store, targets, watch))
    return Engine(
        books=books,
        lanes=lanes,
        scheduler=scheduler,
        signer=signer,
        store=store,
        judges=judges,
        targets=targets,
        watch=watch,
        source=source,
        worker=Worker(source, _caller(opening, who, signer), outside.clock, who.tally, outside.glance),
    )


def _scheduler(opening: Opening, gathered: Gathered) -> Scheduler:
    scheduler = Scheduler(opening.ledgers)
    for number, lane in gathered.lanes.items():
        add_turns(scheduler, lane, gathered.charges[number])
    return scheduler


def _books(opening: Opening, who: Enrolled) -> Bookkeeping:
    database, in_memory = opening.database, opening.plan.in_memory
    return Bookkeeping(
        crawl=who.crawl,
        database=database,
        clock=opening.outside.clock,
        frontier=TaskFrontier(database, who.me.number, lease=LEASE_TIME, call=CALL_TIME, in_memory=in_memory),
        ledgers=opening.ledgers,
        log=who.log,
    )


def _signer(opening: Opening) -> Signer:
    outside, vault = opening.outside, opening.outside.vault
    logins, renewals = partial(login_charges, vault), partial(renewal_charges, vault)
    booked = BookedLogins(opening.database, opening.ledgers, outside.clock, logins, renewals)
    return Signer(vault, outside.transport, outside.clock, booked)


def _caller(opening: Opening, who: Enrolled, signer: Signer) -> Caller:
    lanes = who.gathered.lanes.values()
    facets = frozenset(lane.facet.name for lane in lanes if opening.outside.participation.makes_calls)
    return Caller(signer, {lane.service.name: lane.provider for lane in lanes}, facets, who.me.number)


def _store(opening: Opening, who: Enrolled, judges: Sequence[Judge]) -> StorePort:
    plan, database, lanes = opening.plan, opening.database, who.gathered.lanes.values()
    asked = {use.name for use in plan.flow.facets}
    store = Store(
        database,
        keeps_sightings=is_compared((lane.facet for lane in lanes if lane.facet.name in asked), len(who.gathered.streams)),
        heeds_counters=plan.flow.heeds_counters({lane.facet.name for lane in lanes if lane.facet.is_lookup}),
        counters_every=plan.counters_every,
        consent=plan.consent,
    )
    return opening.extensions.store(JudgingStore(store, database, judges) if judges else store, database, who.crawl)
