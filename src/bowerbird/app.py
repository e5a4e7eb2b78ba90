"""The composition root: the only file that knows every concrete class."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct

from bowerbird.analysis.places.areas import area_named
from bowerbird.analysis.places.locator import AreaLocator
from bowerbird.analysis.places.opened import resolver_in
from bowerbird.crawl import roster
from bowerbird.crawl.credentials import own_credentials, stream_credential
from bowerbird.crawl.dispatcher import Dispatcher, Parts
from bowerbird.crawl.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.crawl.files.place_plans import SearchPlan
from bowerbird.crawl.files.seed_list import SeedQuery
from bowerbird.crawl.files.stream_plans import StreamPlan
from bowerbird.crawl.flow import STREAM, FacetUse, Flow, Vocabulary
from bowerbird.crawl.judging import Judging
from bowerbird.crawl.keeping import Keeper, Turns
from bowerbird.crawl.lanes import Lane, add_turns
from bowerbird.crawl.log import QueryLog
from bowerbird.crawl.logins import LoginBook
from bowerbird.crawl.long_lists import LongLists
from bowerbird.crawl.media import Collector
from bowerbird.crawl.own import Own
from bowerbird.crawl.rebuilding import Queues, Rebuilder, queues_of
from bowerbird.crawl.scheduler import Scheduler
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.seeding.homes import Homes, host_of
from bowerbird.crawl.seeding.seeder import FlowSeeder, HeardSeeder
from bowerbird.crawl.seeding.seeds import soil, sown
from bowerbird.crawl.seeding.starts import starts
from bowerbird.crawl.session import Session
from bowerbird.crawl.sessions import Sessions
from bowerbird.crawl.streaming import Stream, Streamer
from bowerbird.crawl.streaming.book import enrol_stream
from bowerbird.crawl.supervisor import Part
from bowerbird.crawl.tally import Tally
from bowerbird.crawl.worker import Worker
from bowerbird.db import open_database
from bowerbird.errors import CredentialError, UserError
from bowerbird.export.sample import enough
from bowerbird.flows import builtin_flows
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.filling import fill, fill_login
from bowerbird.limits.ledgers import BookedLedgers
from bowerbird.model import Arrival, Channel, Charge, Credential, Service
from bowerbird.policies.registry import RANKERS, WALKS, Place, is_batched_lookup, ranker
from bowerbird.ports import (
    Clock,
    Database,
    GeographicProvider,
    MediaTransport,
    Provider,
    Ranker,
    StreamProvider,
    StreamTransport,
    Transaction,
    Transport,
    Vault,
)
from bowerbird.providers import PROVIDERS, provider
from bowerbird.providers.tables import TabledProvider, with_limits
from bowerbird.settings import load_settings
from bowerbird.store import Store
from bowerbird.store.choosing import chosen
from bowerbird.store.located import LocatingStore
from bowerbird.store.recall import Recall
from bowerbird.store.repacking import repack
from bowerbird.store.sightings import is_source
from bowerbird.store.walked import stored_links

LEASE_TIME = timedelta(minutes=3)
NOTHING_OWN = Own()
CALL_TIME = timedelta(seconds=90)
"""What must be left of a lease to start a call with it; longer than any request may take."""


def vocabulary() -> Vocabulary:
    """The words that flow and crawl files may use."""
    known = {name: provider(name) for name in PROVIDERS}
    streaming = {name: each for name, each in known.items() if isinstance(each, StreamProvider)}
    geographic = {name: each for name, each in known.items() if isinstance(each, GeographicProvider)}
    return Vocabulary(
        rankers=RANKERS,
        providers={name: each.facets for name, each in known.items()},
        flows=builtin_flows(),
        channels={name: each.channels for name, each in streaming.items()},
        subscribe=lambda name, channel, options: streaming[name].subscription(channel, options),
        area=lambda text: area_named(text, resolver_in(load_settings().cache_folder)),
        place_ways={name: each.place_ways for name, each in geographic.items()},
        geography=lambda name, areas, way: geographic[name].geography(areas, way),
    )


class Outside(Struct, frozen=True, kw_only=True):
    """What a crawl reaches the world with: a clock, a transport, a vault. In virtual time all three are simulated."""

    clock: Clock
    transport: Transport
    vault: Vault
    media: MediaTransport | None = None
    """Fetches pictures, for crawls that keep them."""
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
    seeds: AsyncIterator[Arrival]


@asynccontextmanager
async def open_store(where: str, clock: Clock) -> AsyncIterator[Database]:
    """The migrated database of a crawl, closed at the end."""
    database = await open_database(where, clock)
    try:
        await database.migrate()
        await repack(database, clock)
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def open_crawl(plan: CrawlPlan, outside: Outside, own: Own = NOTHING_OWN) -> AsyncIterator[Crawl]:
    """Everything a crawl needs, wired; its rows exist in the database when this returns."""
    async with open_store(plan.store, outside.clock) as database:
        yield await _wire(plan, outside, database, own)


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
    streams: list[Stream]
    locator: AreaLocator | None = None
    queues: list[Queues] = []
    own: Own = NOTHING_OWN


async def _wire(plan: CrawlPlan, outside: Outside, database: Database, own: Own) -> Crawl:
    now = outside.clock.now()
    ledgers = BookedLedgers(pace=outside.is_paced)
    async with database.transaction() as tx:
        row = await roster.enrol_crawl(tx, plan.name, msgspec.json.encode(plan.flow).decode(), plan.told(), now)
        worker = await roster.enrol_worker(tx, plan.name, now)
        scheduler, tally = Scheduler(ledgers), Tally(now)
        wiring = _Wiring(plan, row.crawl, worker, scheduler, tally, {}, {}, {}, outside.vault, [], _locator(plan), own=own)
        for service in plan.services:
            await _add_service(tx, wiring, service, outside.clock.now)
        admission = Admission(database, row.crawl, wiring.lanes, plan.flow.filters.max_users)
        await admission.open(tx)
        # A new start is a new chance: the user may have mended what the service refused.
        await roster.accept_credentials(tx, sorted({name for each in wiring.charges.values() for name in each if name}))
    book = LoginBook(database, ledgers, outside.clock, partial(_login_charges, outside.vault))
    sessions = Sessions(outside.vault, outside.transport, outside.clock, book)
    parts = Parts(
        database=database,
        clock=outside.clock,
        frontier=TaskFrontier(database, worker, lease=LEASE_TIME, call=CALL_TIME),
        ledgers=ledgers,
        store=_store(database, wiring),
        log=QueryLog(database, row.crawl, worker),
        scheduler=wiring.scheduler,
        lanes=wiring.lanes,
        sessions=sessions,
        lease_time=LEASE_TIME,
    )
    dispatcher = Dispatcher(parts, row.crawl, admission)
    rebuilder = Rebuilder(parts, dispatcher, Recall(database), row.crawl, wiring.tally)
    loop = Worker(
        dispatcher,
        outside.transport,
        sessions,
        outside.clock,
        wiring.lanes,
        wiring.tally,
        glance=outside.glance,
        ends_when_empty=plan.flow.stop.when_empty and not plan.streams,
        is_fed=rebuilder.is_at_it,
    )
    beside = [*_beside(wiring, parts, dispatcher, outside), rebuilder.part(wiring.queues)]
    if plan.flow.stop.half_width is not None:
        judging = Judging(partial(enough, database, plan.name), wiring.tally, outside.clock, loop.end)
        beside.append(Part(name="sample", run=judging.run))
    before = partial(rebuilder.open, wiring.queues)
    session = Session(parts, row.crawl, worker, loop, dispatcher, wiring.tally, plan.flow.stop, beside, before)
    return Crawl(
        plan=plan,
        database=database,
        session=session,
        ledgers=ledgers,
        tally=wiring.tally,
        lanes=wiring.lanes,
        charges=wiring.charges,
        seeds=_seeds(wiring, database, outside.clock),
    )


def _store(database: Database, wiring: _Wiring) -> Store | LocatingStore:
    flow, often = wiring.plan.flow, wiring.plan.counters_every
    asked = {use.name for use in flow.facets}
    is_searching = any(is_source(lane.facet) for lane in wiring.lanes.values() if lane.facet.name in asked)
    heeds = flow.heeds_counters({lane.facet.name for lane in wiring.lanes.values() if lane.facet.is_lookup})
    store = Store(database, keeps_sightings=is_searching, heeds_counters=heeds, counters_every=often)
    return LocatingStore(store, database, wiring.locator) if wiring.locator else store


def _locator(plan: CrawlPlan) -> AreaLocator | None:
    """Who says where things are, in a crawl that is about places."""
    areas = [place.area for place in plan.places]
    return AreaLocator(areas, resolver_in(load_settings().cache_folder)) if areas else None


def _login_charges(vault: Vault, credential: str, speaks: Provider, service: Service) -> tuple[Charge, ...]:
    """What a login takes from the buckets that the network keeps for logins."""
    owner = next((each for each in vault.credentials() if each.name == credential), None)
    return fill_login(getattr(speaks, "session_limits", ()), service.name, owner)


async def _add_service(tx: Transaction, wiring: _Wiring, planned: ServicePlan, now: Callable[[], datetime]) -> None:
    service = planned.service
    speaks = with_limits(provider(service.provider, now=now, base=service.base), planned.limits)
    number = await roster.enrol_service(tx, service, speaks.network)
    flow = wiring.plan.flow.among(speaks.facets)
    streams = [each for each in wiring.plan.streams if each.service.name == service.name]
    searching = _searching(wiring.plan.searches, service, flow)
    filling = _filling(streams, speaks, flow)
    uses = (*flow.facets, *searching.values(), *(use for use in filling if use.name not in searching))
    numbers = {use.name: await roster.enrol_lane(tx, wiring.crawl, number, use.name) for use in uses}
    seeder = FlowSeeder(flow, numbers, partial(Homes(wiring.homes).away_from, service), wiring.locator)
    for use in uses:
        place = _place(wiring.plan, use, flow, speaks, numbers)
        lane = Lane(
            lane=numbers[use.name],
            service=service,
            provider=speaks,
            facet=speaks.facets[use.name],
            ranker=_ranker(wiring.own, use, place),
            seeder=HeardSeeder(seeder) if use.name in searching else wiring.own.seeder(seeder, numbers),
            weight=use.weight * flow.weight,
            hints=use.hints,
            max_pages=use.max_pages,
            is_polled=use.revisit is not None,
            long_lists=None if use.large_share is None else LongLists(use.large_share, use.large_after),
            follows_opted_out=flow.filters.follow_opted_out,
            links=stored_links(service, number, speaks.network, place.facet) if place.is_one_sided_walk else None,
        )
        wiring.lanes[lane.lane] = lane
        if lane.facet.is_lookup and lane.facet.objects_per_call == 1:
            wiring.homes[host_of(service)] = lane.lane
        wiring.charges[lane.lane] = _charges(speaks, lane, own_credentials(use, planned, wiring.vault))
        add_turns(wiring.scheduler, lane, wiring.charges[lane.lane])
    for each in streams:
        # Signatures are made over the address that is asked, and streams may have another than the rest.
        await _add_stream(tx, wiring, each, provider(service.provider, now=now, base=each.host.base), seeder)
    sources = {numbers[use.name]: use.name for use in flow.facets if is_source(speaks.facets[use.name])}
    heard = {each.lane: STREAM for each in wiring.streams if each.service.name == service.name}
    wiring.queues.extend(queues_of(flow, service, seeder, numbers, sources | heard))


def _channel(planned: StreamPlan, speaks: Provider) -> Channel:
    return _listening(speaks).channels[planned.subscription.channel]


def _listening(speaks: Provider) -> StreamProvider:
    if not isinstance(speaks, StreamProvider):
        raise UserError(f"{speaks.name} has no streams; take [[streams]] out of the crawl file")
    return speaks


def _filling(streams: Sequence[StreamPlan], speaks: Provider, flow: Flow) -> Iterator[FacetUse]:
    """The facets that fill what streams miss or only announce, where the flow does not ask them anyway."""
    used = {use.name for use in flow.facets}
    wanted = dict.fromkeys(name for each in streams for name in _missed(each, _channel(each, speaks)))
    return (FacetUse(name) for name in wanted if name in speaks.facets and name not in used)


def _missed(planned: StreamPlan, channel: Channel) -> tuple[str, ...]:
    # Only the host that streams repositories also gives them away: an AppView beside it has none.
    is_own = planned.host.base == planned.service.base
    return (channel.fills, channel.announces) if is_own else (channel.fills,)


def _searching(searches: Sequence[SearchPlan], service: Service, flow: Flow) -> dict[str, FacetUse]:
    """The facets that search for the crawl's places, where the flow does not ask them anyway."""
    used = {use.name for use in flow.facets}
    own = [each for each in searches if each.service == service.name and each.facet not in used]
    return {each.facet: FacetUse(each.facet, revisit=each.every, hints=each.hints) for each in own}


async def _add_stream(tx: Transaction, wiring: _Wiring, planned: StreamPlan, speaks: Provider, seeder: FlowSeeder) -> None:
    service, wanted = planned.service, msgspec.structs.replace(planned.subscription, owner=wiring.plan.owner)
    number = await roster.enrol_service(tx, service, speaks.network)
    channel = _channel(planned, speaks)
    credential = stream_credential(planned, channel, wiring.plan.services, wiring.vault)
    wiring.streams.append(
        Stream(
            stream=await enrol_stream(tx, wiring.crawl, number, wanted),
            crawl=wiring.crawl,
            worker=wiring.worker,
            lane=await roster.enrol_lane(tx, wiring.crawl, number, f"stream {wanted.name}"),
            wanted=wanted,
            service=service,
            host=planned.host,
            provider=_listening(speaks),
            seeder=seeder,
            credential=credential.name if credential else None,
            charges=fill(channel.facet, service.name, credential),
        )
    )


def _beside(wiring: _Wiring, parts: Parts, dispatcher: Dispatcher, outside: Outside) -> list[Part]:
    """What runs beside the loop of calls: streams and scheduled backups."""
    transport = outside.transport
    beside: list[Part] = []
    for stream in wiring.streams:
        if not isinstance(transport, StreamTransport):
            raise UserError("this transport cannot hold a connection open, so the crawl's streams cannot be heard")
        beside.append(Streamer(parts, transport, dispatcher, stream, wiring.tally).part())
    plan = wiring.plan
    if plan.backup is not None:
        turns = Turns(parts.database, plan.name, wiring.worker, plan.backup.every, outside.clock)
        beside.append(Part(name="backup", run=Keeper(plan.name, plan.store, plan.backup, outside.clock, turns).run))
    if plan.media is not None and outside.media is not None:
        collector = Collector(parts.database, outside.clock, outside.media, plan.media, wiring.worker)
        beside.append(Part(name="media", run=collector.run, end=collector.end, finish=collector.finish))
    return beside


def _ranker(own: Own, use: FacetUse, place: Place) -> Ranker:
    return own.ranker(use.ranker, use.revisit, lambda: ranker(use.ranker, use.options, use.revisit, place))


def _place(plan: CrawlPlan, use: FacetUse, flow: Flow, speaks: TabledProvider, numbers: Mapping[str, int]) -> Place:
    facet = speaks.facets[use.name]
    seeds, others = starts(plan.seeds, speaks, facet) if use.ranker in WALKS else ((), 0)
    lanes = tuple(numbers[each.name] for each in flow.facets if each.ranker == use.ranker)
    lookups = (numbers[each.name] for each in flow.facets if is_batched_lookup(speaks.facets[each.name]))
    return Place(facet, lanes, use.ranker, seeds, others, next(lookups, None))


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


def _seeds(wiring: _Wiring, database: Database, clock: Clock) -> AsyncIterator[Arrival]:
    """The seeds of the plan as targets; those chosen from a store are read when it is their turn."""
    plan, first = wiring.plan, wiring.plan.services[0].service
    ground = soil(plan.flow, first, wiring.lanes.values(), Homes(wiring.homes))
    return sown(ground, plan.searches, plan.seeds.located(), _chosen(plan.seeds.query, first, database, clock))


async def _chosen(query: SeedQuery | None, service: Service, database: Database, clock: Clock) -> AsyncIterator[str]:
    if query is None:
        return
    async with open_store(query.store, clock) if query.store else nullcontext(database) as source:
        async for key in chosen(source, query.what, query.holds, service):
            yield key
