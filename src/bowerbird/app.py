"""The composition root: the only file that knows every concrete class."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct

from bowerbird.analysis.places.judge import place_judge
from bowerbird.crawl.access.credentials import Asking, check_named, names_in, own_credentials, stream_credentials
from bowerbird.crawl.access.how_to_add import wrong_kind
from bowerbird.crawl.access.logins import LoginBook
from bowerbird.crawl.access.needed import channel_of, filling, listening, searching
from bowerbird.crawl.access.served import Served
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.access.surveys import Survey, Surveyor, Unknown
from bowerbird.crawl.answers.long_lists import LongLists
from bowerbird.crawl.life import not_asked, registry
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.life.good_enough import Judging
from bowerbird.crawl.life.life import Life
from bowerbird.crawl.life.plan_versions import agree
from bowerbird.crawl.life.rebuilding import Queues, Rebuilder, queues_of
from bowerbird.crawl.process.caller import Caller
from bowerbird.crawl.process.claims import WorkerClaims
from bowerbird.crawl.process.course import Course
from bowerbird.crawl.process.enrolment import Enrolment, enrol
from bowerbird.crawl.process.pacing import Pacing
from bowerbird.crawl.process.process import Process
from bowerbird.crawl.process.remarks import Remarks
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.seeding.homes import Homes, host_of
from bowerbird.crawl.seeding.meaning import Ground, plot
from bowerbird.crawl.seeding.seeder import FlowSeeder, HeardSeeder
from bowerbird.crawl.seeding.seeds import soil, sown
from bowerbird.crawl.seeding.starts import starts
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.parts import stream_parts
from bowerbird.crawl.streaming.stream import Key, Keys, Stream
from bowerbird.crawl.streaming.stream_rows import enrol_stream
from bowerbird.crawl.work.bookkeeping import LEASE_TIME, Bookkeeping
from bowerbird.crawl.work.call_log import QueryLog
from bowerbird.crawl.work.lanes import Lane, Lanes, add_turns
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.server_watch import ServerWatch
from bowerbird.crawl.work.settling import Settler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.crawl.work.spread import spread_of
from bowerbird.crawl.work.targets import Targets
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.stream_plans import StreamPlan
from bowerbird.flows.flow import STREAM, FacetUse, Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.booked_ledgers import BookedLedgers
from bowerbird.limits.filling import fill, login_charges, renewal_charges
from bowerbird.limits.purses import Means, budgeted, money_in
from bowerbird.model import Arrival, Charge, Credential, Facet, Flavour, Service
from bowerbird.modules.parts import module_parts
from bowerbird.policies.registry import WALKS, Place, is_batched_lookup, ranker
from bowerbird.ports import (
    Clock,
    Database,
    FlavouredProvider,
    Judge,
    MediaTransport,
    Part,
    Provider,
    Ranker,
    TabledProvider,
    Transaction,
    Transport,
    Vault,
)
from bowerbird.providers import provider
from bowerbird.providers.tables import thrifty, thrifty_facet, with_limits
from bowerbird.reports.seeds.seed_query import chosen_by
from bowerbird.reports.studies.sample import enough
from bowerbird.reports.studies.walks import stored_links
from bowerbird.settings import load_settings
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore
from bowerbird.store.opening import open_store
from bowerbird.store.posts.listed import is_source
from bowerbird.store.posts.recall import Recall
from bowerbird.vocabulary import vocabulary as vocabulary

NO_EXTENSIONS = Extensions()
Options = Mapping[str | None, tuple[Charge, ...]]
"""By credential: what one call takes from which bucket."""
NOTHING_LOST: Mapping[str, Mapping[str, str]] = {}
NOT_ASKED: Mapping[str, Survey] = {}
CALL_TIME = timedelta(seconds=90)
"""What must be left of a lease to start a call with it; longer than any request may take."""


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
    is_alone: bool = False
    """Whether a crawl that another process runs already is refused."""
    applies: bool | None = None
    """Whether a plan that differs from the crawl's becomes it or is refused; None: it does where nobody else runs the crawl."""


class Crawl(Struct, frozen=True, kw_only=True):
    """A crawl ready to run, and what those who watch it need."""

    plan: CrawlPlan
    database: Database
    process: Process
    ledgers: BookedLedgers
    tally: Tally
    lanes: Mapping[int, Lane]
    charges: Mapping[int, Options]
    seeds: AsyncIterator[Arrival]
    number: int
    """Of its row."""
    log: QueryLog
    notes: Sequence[str] = ()
    """What the servers of the crawl cannot do of what it would ask, each as a sentence."""


@asynccontextmanager
async def open_crawl(
    plan: CrawlPlan, outside: Outside, own: Extensions = NO_EXTENSIONS, asked: Mapping[str, Survey] = NOT_ASKED
) -> AsyncIterator[Crawl]:
    """Everything a crawl needs, wired; its rows exist in the database when this returns. `asked`: by service what it said of
    itself just now."""
    async with open_store(plan.store, outside.clock) as database:
        yield await _wire(plan, outside, database, own, asked)


class _Wiring(Struct, frozen=True):
    """A crawl half built."""

    plan: CrawlPlan
    crawl: int
    me: Enrolment
    scheduler: Scheduler
    tally: Tally
    lanes: dict[int, Lane]
    charges: dict[int, Options]
    homes: dict[str, int]
    vault: Vault
    streams: list[Stream]
    judges: Sequence[Judge] = ()
    queues: list[Queues] = []
    own: Extensions = NO_EXTENSIONS
    flavours: Mapping[str, Flavour] = {}
    mute: list[Part] = []
    """Streams that would never bring anything."""
    notes: list[str] = []
    lost: dict[str, dict[str, str]] = {}
    """By service, the facets that it cannot be asked for, each with the reason."""
    aside: dict[int, Lane] = {}
    """The lanes of these: what is led to them waits."""


async def _wire(plan: CrawlPlan, outside: Outside, database: Database, own: Extensions, asked: Mapping[str, Survey]) -> Crawl:
    check_named(plan.flow.facets, plan.services, outside.vault)
    ledgers = BookedLedgers(pace=outside.is_paced)
    surveyor = Surveyor(database, ledgers, outside.transport, outside.clock)
    flavours = {each.service.name: await surveyor.learn(each, asked) for each in unknown_servers(plan, outside.clock)}
    now = outside.clock.now()
    async with database.transaction() as tx:
        row = await registry.enrol_crawl(tx, plan.name, msgspec.json.encode(plan.flow).decode(), plan.told(), now)
        me = await enrol(tx, plan.name, now, is_alone=outside.is_alone)
        await agree(tx, plan, row.crawl, me, now, applies=outside.applies)
        log = QueryLog(row.crawl, me.number)
        scheduler, tally = Scheduler(ledgers), Tally(now, row.size)
        tally.asked(await surveyor.log(tx, log, row.crawl))
        wiring = _Wiring(plan, row.crawl, me, scheduler, tally, {}, {}, {}, outside.vault, [], _judges(plan, own))
        wiring = msgspec.structs.replace(wiring, own=own, flavours=flavours)
        for service in plan.services:
            await _add_service(tx, wiring, service, outside.clock.now)
        await not_asked.mark(tx, row.crawl, me, wiring.aside, now)
        taken = [each for own in wiring.charges.values() for charges in own.values() for each in charges]
        await ledgers.open(tx, money_in((*taken, *(each for stream in wiring.streams for each in stream.charges))), now)
        admission = Admission(database, row.crawl, wiring.lanes | wiring.aside, plan.flow.filters.max_users)
        await admission.open(tx)
        # A new start is a new chance: the user may have mended what the service refused.
        asking = ((wiring.lanes[lane].service.name, charges) for lane, charges in wiring.charges.items())
        await registry.accept_credentials(tx, (*asking, *((each.service.name, each.keys.names) for each in wiring.streams)))
    signer = _signer(outside, database, ledgers)
    lanes = Lanes(wiring.lanes, wiring.aside)
    frontier = TaskFrontier(database, me.number, lease=LEASE_TIME, call=CALL_TIME, in_memory=plan.in_memory)
    books = Bookkeeping(crawl=row.crawl, database=database, clock=outside.clock, frontier=frontier, ledgers=ledgers, log=log)
    store, targets = _store(database, wiring), Targets(frontier, lanes, scheduler, admission)
    watch = ServerWatch(lanes, scheduler, frontier, signer.names)
    source = LocalWorkSource(books, lanes, scheduler, watch, Settler(books, store, targets, watch))
    facets = frozenset(lane.facet.name for lane in lanes.asked.values())
    speakers = {lane.service.name: lane.provider for lane in lanes.asked.values()}
    worker = Worker(source, Caller(signer, speakers, facets, me.number), outside.clock, tally, outside.glance)
    parts = [
        *stream_parts(wiring.streams, Hearing(books, store, targets, signer, tally)),
        *wiring.mute,
        *module_parts(plan, database, outside.clock, outside.media, WorkerClaims(me.number)),
        Rebuilder(books, targets, Recall(database), tally).part(wiring.queues),
    ]
    if plan.flow.stop.half_width is not None:
        judging = Judging(partial(enough, database, plan.name), tally, outside.clock, worker.end)
        parts.append(Part(name="sample", run=judging.run))
    exhausted = Means(ledgers, plan.name, [each.charges for each in wiring.streams], outside.clock).exhausted
    spread = spread_of(plan.flow.stop, wiring.lanes.values(), wiring.charges)
    pacing = Pacing(spread, lanes, scheduler, tally, outside.clock)
    course = Course(plan.flow.stop, tally, outside.clock, parts, exhausted, pacing.held_until)
    prevented = str if wiring.streams else watch.prevented
    life = Life(books, me, lanes, targets)
    return Crawl(
        plan=plan,
        database=database,
        process=Process(life, worker, course, Remarks(database, outside.clock), prevented),
        ledgers=ledgers,
        tally=tally,
        lanes=wiring.lanes,
        charges=wiring.charges,
        seeds=_seeds(wiring, database, outside.clock),
        notes=wiring.notes,
        number=row.crawl,
        log=log,
    )


def _signer(outside: Outside, database: Database, ledgers: BookedLedgers) -> Signer:
    logins, renewals = partial(login_charges, outside.vault), partial(renewal_charges, outside.vault)
    book = LoginBook(database, ledgers, outside.clock, logins, renewals)
    return Signer(outside.vault, outside.transport, outside.clock, book)


def _store(database: Database, wiring: _Wiring) -> Store | JudgingStore:
    flow, often = wiring.plan.flow, wiring.plan.counters_every
    asked = {use.name for use in flow.facets}
    is_searching = any(is_source(lane.facet) for lane in wiring.lanes.values() if lane.facet.name in asked)
    heeds = flow.heeds_counters({lane.facet.name for lane in wiring.lanes.values() if lane.facet.is_lookup})
    store = Store(database, keeps_sightings=is_searching, heeds_counters=heeds, counters_every=often)
    return JudgingStore(store, database, wiring.judges) if wiring.judges else store


def _judges(plan: CrawlPlan, own: Extensions) -> Sequence[Judge]:
    """Who says what things are: where, in a crawl that is about places, and whatever the program that runs it adds."""
    areas = [place.area for place in plan.places]
    return (*([place_judge(areas, load_settings().cache_folder)] if areas else ()), *own.judges)


async def _add_service(tx: Transaction, wiring: _Wiring, planned: ServicePlan, now: Callable[[], datetime]) -> None:
    service = planned.service
    plain = _speaking(planned, now)
    number = await registry.enrol_service(tx, service, plain.network)
    served = Served(plain, service, wiring.flavours.get(service.name), wiring.notes)
    asking = Asking(planned, wiring.plan.services, wiring.vault)
    lost = wiring.lost[service.name] = served.lost(wiring.plan.flow, asking)
    flow, kept = served.note(wiring.plan.flow, lost), not_asked.kept(wiring.plan.flow.among(plain.facets), lost)
    speaks = thrifty(served.provider, wiring.plan.budget_on(service.name).a_call)
    streams = [each for each in wiring.plan.streams if each.service.name == service.name]
    searched = searching(wiring.plan.searches, service, flow)
    streams = served.streams(streams, wiring.mute)
    filled = filling(streams, speaks, flow)
    uses = (*flow.facets, *searched.values(), *(use for use in filled if use.name not in searched))
    numbers = {use.name: await registry.enrol_lane(tx, wiring.crawl, number, use.name) for use in (*uses, *kept.facets)}
    seeder = FlowSeeder(kept, numbers, partial(Homes(wiring.homes).away_from, service))
    for use in uses:
        place = _place(wiring.plan, use, flow, speaks, numbers)
        lane = Lane(
            lane=numbers[use.name],
            service=service,
            provider=speaks,
            facet=speaks.facets[use.name],
            ranker=_ranker(wiring.own, use, place),
            seeder=HeardSeeder(seeder) if use.name in searched else wiring.own.seeder(seeder, numbers),
            weight=use.weight * flow.weight,
            hints=use.hints,
            max_pages=use.max_pages,
            is_polled=use.revisit is not None,
            long_lists=None if use.large_share is None else LongLists(use.large_share, use.large_after),
            follows_opted_out=flow.filters.follow_opted_out,
            links=stored_links(service, number, speaks.network, place.facet) if place.is_one_sided_walk else None,
        )
        wiring.lanes[lane.lane] = lane
        # As the network has it: a batch that a server does not take is still asked by ids alone.
        if lane.facet.is_lookup and plain.facets[use.name].objects_per_call == 1:
            wiring.homes[host_of(service)] = lane.lane
        credentials = own_credentials(use, planned, wiring.plan.services, wiring.vault)
        wiring.charges[lane.lane] = _charges(speaks, lane, credentials, wiring)
        add_turns(wiring.scheduler, lane, wiring.charges[lane.lane])
    for use in (use for use in kept.facets if use.name in lost):
        wiring.aside[numbers[use.name]] = Lane(
            lane=numbers[use.name],
            service=service,
            provider=plain,
            facet=plain.facets[use.name],
            ranker=_ranker(wiring.own, use, _place(wiring.plan, use, kept, plain, numbers)),
            seeder=seeder,
            left_out=lost[use.name],
        )
    for each in streams:
        # Signatures are made over the address that is asked, and streams may have another than the rest.
        speaking = Served(provider(service.provider, now=now, base=each.host.base), service, served.flavour, [])
        await _add_stream(tx, wiring, each, speaking.provider, seeder)
    sources = {numbers[use.name]: use.name for use in kept.facets if is_source(plain.facets[use.name])}
    heard = {each.lane: STREAM for each in wiring.streams if each.service.name == service.name}
    wiring.queues.extend(queues_of(kept, service, seeder, numbers, sources | heard))


def _speaking(planned: ServicePlan, now: Callable[[], datetime]) -> TabledProvider:
    """The provider of a service with the user's own limits."""
    return with_limits(provider(planned.service.provider, now=now, base=planned.service.base), planned.limits)


def unknown_servers(plan: CrawlPlan, clock: Clock) -> Iterator[Unknown]:
    """The servers of the crawl that may be of many kinds, with what a question to them takes from their limits."""
    for planned in plan.services:
        speaks, name = _speaking(planned, clock.now), planned.service.name
        if isinstance(speaks, FlavouredProvider):
            charges = fill(next(iter(speaks.facets_for("none").values())), name, None)
            yield Unknown(speaks, planned.service, tuple(each for each in charges if not each.limit.only_paged))


async def _add_stream(tx: Transaction, wiring: _Wiring, planned: StreamPlan, speaks: Provider, seeder: FlowSeeder) -> None:
    service, wanted = planned.service, msgspec.structs.replace(planned.subscription, owner=wiring.plan.owner)
    number = await registry.enrol_service(tx, service, speaks.network)
    channel = channel_of(planned, speaks)
    able = stream_credentials(planned, channel, wiring.plan.services, wiring.vault) or (None,)
    wiring.streams.append(
        Stream(
            stream=await enrol_stream(tx, wiring.crawl, number, wanted),
            crawl=wiring.crawl,
            me=wiring.me.number,
            lane=await registry.enrol_lane(tx, wiring.crawl, number, f"stream {wanted.name}"),
            wanted=wanted,
            service=service,
            host=planned.host,
            provider=listening(speaks),
            seeder=seeder,
            keys=Keys([Key(each.name if each else None, _paid(channel.facet, service, each, wiring.plan)) for each in able]),
        )
    )


def _ranker(own: Extensions, use: FacetUse, place: Place) -> Ranker:
    return own.ranker(use.ranker, use.revisit, lambda: ranker(use.ranker, use.options, use.revisit, place))


def _place(plan: CrawlPlan, use: FacetUse, flow: Flow, speaks: TabledProvider, numbers: Mapping[str, int]) -> Place:
    facet = speaks.facets[use.name]
    seeds, others = starts(plan.seeds, speaks, facet) if use.ranker in WALKS else ((), 0)
    lanes = tuple(numbers[each.name] for each in flow.facets if each.ranker == use.ranker)
    lookups = (numbers[each.name] for each in flow.facets if is_batched_lookup(speaks.facets[each.name]))
    return Place(facet, lanes, use.ranker, seeds, others, next(lookups, None), use.max_pages)


def _paid(facet: Facet, service: Service, credential: Credential | None, plan: CrawlPlan) -> tuple[Charge, ...]:
    """What one call takes from the buckets of the service and, where it costs anything, from the user's purses."""
    budget = plan.budget_on(service.name)
    return budgeted(facet.name, fill(thrifty_facet(facet, budget.a_call), service.name, credential), budget)


def _charges(speaks: TabledProvider, lane: Lane, credentials: tuple[Credential, ...], wiring: _Wiring) -> Options:
    """What one call takes with each credential that may ask this facet at all."""
    name = lane.facet.name
    holders: tuple[Credential | None, ...] = credentials or (None,)
    tables = {each: speaks.facets_for(each.kind if each else "none") for each in holders}
    charges = {
        (each.name if each else None): _paid(table[name], lane.service, each, wiring.plan)
        for each, table in tables.items()
        if name in table
    }
    if not charges:
        kinds = [kind for kind in speaks.tables if name in speaks.tables[kind]]
        raise wrong_kind(lane.service, f"{name} can only be asked", kinds, names_in(wiring.vault))
    return charges


def _seeds(wiring: _Wiring, database: Database, clock: Clock) -> AsyncIterator[Arrival]:
    """The seeds of the plan as targets; those chosen from a store are read when it is their turn."""
    plan, first = wiring.plan, wiring.plan.services[0].service
    earth = soil(ground_of(plan, wiring.lost), wiring.lanes.values(), Homes(wiring.homes))
    chosen = chosen_by(plan.seeds.query, first, database, clock)
    return sown(earth, plan.searches, plan.seeds.located(), chosen, skips_bad=plan.skips_bad)


def ground_of(plan: CrawlPlan, lost: Mapping[str, Mapping[str, str]] = NOTHING_LOST) -> Ground:
    """What seeds mean in a crawl; `lost`: by service the facets that it cannot be asked for, each with the reason."""
    services = (each.service for each in plan.services)
    return Ground(tuple(plot(plan.flow, each, provider(each.provider), lost.get(each.name, {})) for each in services))
