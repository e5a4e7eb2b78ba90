"""The composition root: the only file that knows every concrete class."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct

from bowerbird.crawl import roster
from bowerbird.crawl.dispatcher import Dispatcher, Parts
from bowerbird.crawl.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.crawl.flow import Flow, Vocabulary
from bowerbird.crawl.lanes import Lane
from bowerbird.crawl.log import QueryLog
from bowerbird.crawl.scheduler import Scheduler
from bowerbird.crawl.seeding.homes import Homes, host_of
from bowerbird.crawl.seeding.seeder import FlowSeeder, seed_arrival
from bowerbird.crawl.session import Session
from bowerbird.crawl.sessions import Sessions
from bowerbird.crawl.tally import Tally
from bowerbird.crawl.worker import Worker
from bowerbird.db import open_database
from bowerbird.errors import CredentialError, UserError
from bowerbird.flows import builtin_flows
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.filling import fill
from bowerbird.limits.ledgers import BookedLedgers
from bowerbird.model import Arrival, Charge, Credential, Turn
from bowerbird.policies.registry import RANKERS, ranker
from bowerbird.ports import Clock, Database, Transaction, Transport, Vault
from bowerbird.providers import PROVIDERS, provider
from bowerbird.providers.tables import TabledProvider, with_limits
from bowerbird.store import Store

LEASE_TIME = timedelta(minutes=3)
CALL_TIME = timedelta(seconds=90)
"""What must be left of a lease to start a call with it; longer than any request may take."""


def vocabulary() -> Vocabulary:
    """The words that flow and crawl files may use."""
    facets = {name: provider(name).facets for name in PROVIDERS}
    return Vocabulary(rankers=RANKERS, providers=facets, flows=builtin_flows())


class Outside(Struct, frozen=True, kw_only=True):
    """What a crawl reaches the world with: a clock, a transport, a vault. In virtual time all three are simulated."""

    clock: Clock
    transport: Transport
    vault: Vault
    glance: timedelta = timedelta(seconds=1)
    """How often a waiting loop looks up for what other processes did."""
    is_paced: bool = True


class Crawl(Struct, frozen=True, kw_only=True):
    """A crawl ready to run, and what those who watch it need."""

    plan: CrawlPlan
    database: Database
    session: Session
    ledgers: BookedLedgers
    tally: Tally
    lanes: Mapping[int, Lane]
    charges: Mapping[int, Mapping[str | None, tuple[Charge, ...]]]
    """By lane and credential: what one call takes from which bucket."""
    seeds: Iterator[Arrival]


@asynccontextmanager
async def open_store(where: str, clock: Clock) -> AsyncIterator[Database]:
    """The migrated database of a crawl, closed at the end."""
    database = await open_database(where, clock)
    try:
        await database.migrate()
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def open_crawl(plan: CrawlPlan, outside: Outside) -> AsyncIterator[Crawl]:
    """Everything a crawl needs, wired; its rows exist in the database when this returns."""
    async with open_store(plan.store, outside.clock) as database:
        yield await _wire(plan, outside, database)


class _Wiring(Struct, frozen=True):
    """A crawl half built."""

    plan: CrawlPlan
    crawl: int
    worker: int
    scheduler: Scheduler
    tally: Tally
    lanes: dict[int, Lane]
    charges: dict[int, Mapping[str | None, tuple[Charge, ...]]]
    homes: dict[str, int]
    vault: Vault


async def _wire(plan: CrawlPlan, outside: Outside, database: Database) -> Crawl:
    now = outside.clock.now()
    ledgers = BookedLedgers(pace=outside.is_paced)
    async with database.transaction() as tx:
        flow = msgspec.json.encode(plan.flow).decode()
        row = await roster.enrol_crawl(tx, plan.name, flow, _told(plan), now)
        worker = await roster.enrol_worker(tx, plan.name, now)
        wiring = _Wiring(plan, row.crawl, worker, Scheduler(ledgers), Tally(now), {}, {}, {}, outside.vault)
        for service in plan.services:
            await _add_service(tx, wiring, service, outside.clock.now)
        # A new start is a new chance: the user may have mended what the service refused.
        await roster.accept_credentials(tx, sorted({name for each in wiring.charges.values() for name in each if name}))
    sessions = Sessions(outside.vault, outside.transport, outside.clock)
    parts = Parts(
        database=database,
        clock=outside.clock,
        frontier=TaskFrontier(database, worker, lease=LEASE_TIME, call=CALL_TIME),
        ledgers=ledgers,
        store=Store(database),
        log=QueryLog(database, row.crawl, worker),
        scheduler=wiring.scheduler,
        lanes=wiring.lanes,
        sessions=sessions,
        lease_time=LEASE_TIME,
    )
    dispatcher = Dispatcher(parts, row.crawl)
    loop = Worker(
        dispatcher,
        outside.transport,
        sessions,
        outside.clock,
        wiring.lanes,
        wiring.tally,
        glance=outside.glance,
        ends_when_empty=plan.flow.stop.when_empty,
    )
    session = Session(parts, row.crawl, worker, loop, dispatcher, wiring.tally, plan.flow.stop)
    return Crawl(
        plan=plan,
        database=database,
        session=session,
        ledgers=ledgers,
        tally=wiring.tally,
        lanes=wiring.lanes,
        charges=wiring.charges,
        seeds=seed_arrivals(wiring),
    )


def _told(plan: CrawlPlan) -> str:
    """What the database may remember of the crawl file: no secrets are in it, and no address of the database itself."""
    services = [{"name": s.service.name, "provider": s.service.provider, "base": s.service.base} for s in plan.services]
    return msgspec.json.encode({"services": services, "concurrency": plan.concurrency}).decode()


async def _add_service(tx: Transaction, wiring: _Wiring, planned: ServicePlan, now: Callable[[], datetime]) -> None:
    service = planned.service
    speaks = with_limits(provider(service.provider, now=now, base=service.base), planned.limits)
    number = await roster.enrol_service(tx, service, speaks.network)
    flow = wiring.plan.flow
    numbers = {use.name: await roster.enrol_lane(tx, wiring.crawl, number, use.name) for use in flow.facets}
    seeder = FlowSeeder(flow, numbers, wiring.tally.size, partial(Homes(wiring.homes).away_from, service))
    credentials = usable_credentials(planned, wiring.vault)
    for use in flow.facets:
        lane = Lane(
            lane=numbers[use.name],
            service=service,
            provider=speaks,
            facet=speaks.facets[use.name],
            ranker=ranker(use.ranker, use.options, use.revisit),
            seeder=seeder,
            weight=use.weight * flow.weight,
            hints=use.hints,
            max_pages=use.max_pages,
        )
        wiring.lanes[lane.lane] = lane
        if lane.facet.is_lookup and lane.facet.objects_per_call == 1:
            wiring.homes[host_of(service)] = lane.lane
        wiring.charges[lane.lane] = _charges(speaks, lane, credentials)
        _add_turns(wiring.scheduler, lane, wiring.charges[lane.lane])


def _add_turns(scheduler: Scheduler, lane: Lane, charges: Mapping[str | None, tuple[Charge, ...]]) -> None:
    """One turn for the whole lane, or two where requests with a position have limits of their own."""
    if not lane.has_paged_limits:
        scheduler.add(Turn(lane.lane), lane.weight, charges)
        return
    always = {name: tuple(each for each in taken if not each.limit.only_paged) for name, taken in charges.items()}
    scheduler.add(Turn(lane.lane, is_paged=False), lane.weight, charges if lane.is_paged("0") else always)
    scheduler.add(Turn(lane.lane, is_paged=True), lane.weight, charges)


def _charges(speaks: TabledProvider, lane: Lane, credentials: tuple[Credential, ...]) -> Mapping[str | None, tuple[Charge, ...]]:
    """What one call takes with each credential that may ask this facet at all."""
    name = lane.facet.name
    holders: tuple[Credential | None, ...] = credentials or (None,)
    tables = {each: speaks.facets_for(each.kind if each else "none") for each in holders}
    charges = {
        (each.name if each else None): fill(table[name], lane.service.name, each)
        for each, table in tables.items()
        if name in table
    }
    if not charges:
        kinds = [kind for kind in speaks.tables if name in speaks.tables[kind]]
        raise CredentialError(
            f"{lane.service.name}: {name} can only be asked with a credential of kind {' or '.join(kinds)}; "
            f"add one with: bowerbird credentials add NAME --provider {speaks.name} --kind {kinds[0]}"
        )
    return charges


def usable_credentials(planned: ServicePlan, vault: Vault) -> tuple[Credential, ...]:
    """The credentials a service is asked with: those named, or every one of its provider in the vault."""
    fitting = {each.name: each for each in vault.credentials() if each.provider == planned.service.provider}
    if not planned.credentials:
        return tuple(fitting.values())
    missing = [name for name in planned.credentials if name not in fitting]
    if missing:
        raise CredentialError(
            f"the vault has no {planned.service.provider} credential called {missing[0]!r}; "
            f"add it with: bowerbird credentials add {missing[0]} --provider {planned.service.provider}"
        )
    return tuple(fitting[name] for name in planned.credentials)


def seed_arrivals(wiring: _Wiring) -> Iterator[Arrival]:
    """The seeds of the crawl file as targets, read one by one; each goes to the first facet that can take it.

    An account written with its server goes there if the crawl names that server; everything else goes to the first one.
    """
    first = wiring.plan.services[0].service
    lanes = _lanes_by_service(wiring.lanes)[first.name]
    homes = Homes(wiring.homes)
    for text in wiring.plan.seeds:
        home = homes.away_from(first, text) if "@" in text else None
        yield _seed(text, wiring.plan.flow, lanes) if home is None else seed_arrival(home.lane, home.target)


def _lanes_by_service(lanes: Mapping[int, Lane]) -> dict[str, dict[str, Lane]]:
    by_service: dict[str, dict[str, Lane]] = {}
    for lane in lanes.values():
        by_service.setdefault(lane.service.name, {})[lane.facet.name] = lane
    return by_service


def _seed(text: str, flow: Flow, lanes: Mapping[str, Lane]) -> Arrival:
    problem: UserError | None = None
    for name in flow.seeds:
        lane = lanes[name]
        try:
            return seed_arrival(lane.lane, lane.provider.target(text, lane.facet))
        except UserError as error:
            problem = error
    raise problem or UserError(f"the flow {flow.name} takes no seeds, so {text!r} cannot be one")
