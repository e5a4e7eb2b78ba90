"""Streams of simulated networks over real sockets that are retuned while they are heard, beside two that are not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, structs

from bowerbird.clock import RealClock, from_micros, to_micros
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.stream import KeyRotation, Stream, StreamKey, Tuning
from bowerbird.crawl.streaming.stream_rows import enrol_stream
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.work.bookkeeping import Bookkeeping, QueryLog
from bowerbird.crawl.work.lanes import ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.targets import Targets
from bowerbird.db import open_database
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.flow import Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits, call_charges
from bowerbird.model import Page, Reason, Saved, Service
from bowerbird.ports import Database, Row
from bowerbird.providers import provider
from bowerbird.providers.base import Provider
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.tokens import Token
from bowerbird.simulated.world import WorldSettings
from bowerbird.store import Store
from bowerbird.transport import HttpTransport

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_GLANCE = timedelta(milliseconds=20)
REASON = Reason("test", "something else is wanted")
FLOW = Flow(name="listen", facets=(), edges=())
Options = Mapping[str, Sequence[str]]


class Act(Struct, frozen=True, kw_only=True):
    """One channel, and what is heard on it: first one thing, then both, then the other."""

    dialect: str
    channel: str
    one: Options
    both: Options
    other: Options
    token: str = "user"
    tokens: int = 1
    accounts: int = 3_000
    pace: float = 900.0
    """How fast the simulated world lives: a quarter of an hour in a second."""


class Told(Struct, frozen=True):
    """What one ear heard: posts by id, with the network's time and how often a message told of them as they were."""

    posts: Mapping[str, datetime]
    times: Mapping[tuple[str, bytes], int]


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of an act; times are the network's."""

    one: Told
    other: Told
    ear: Told
    began: datetime
    asked: Sequence[datetime]
    effective: Sequence[datetime]
    alone: datetime
    """From then on a single connection is heard."""
    ended: datetime
    changes: Sequence[Mapping[str, Any]]
    gaps: Sequence[Mapping[str, Any]]
    calls: Sequence[Mapping[str, Any]]
    connections: int
    slack: timedelta
    """Two seconds of ours: how exactly it is known here when a change took effect, and how late a post may be told."""


class CountingStore(Store):
    """Counts which posts a stream told of."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.told: Counter[tuple[str, bytes]] = Counter()

    async def hear(self, tx: Any, page: Page, **where: Any) -> Saved:
        self.told.update((post.id, post.raw or b"") for post in page.posts if post.id not in page.along)
        return await super().hear(tx, page, **where)


class Ear:
    """A streamer with a store of its own."""

    def __init__(self, streamer: Streamer, speaks: Provider, database: Database, store: CountingStore) -> None:
        self.streamer = streamer
        self.speaks = speaks
        self.database = database
        self.store = store

    async def rows(self, sql: str) -> list[Row]:
        async with self.database.reading() as tx:
            return [dict(row) for row in await tx.fetch(sql)]

    async def until(self, is_so: Callable[[list[Row]], bool], sql: str) -> None:
        clock = RealClock()
        while not is_so(await self.rows(sql)):
            await clock.sleep_until(clock.now() + _GLANCE)

    async def told(self) -> Told:
        found = await self.rows("select id, created_at from posts where created_at is not null")
        direct = {post for post, _ in self.store.told}
        return Told({row["id"]: from_micros(row["created_at"]) for row in found if row["id"] in direct}, dict(self.store.told))


async def played(act: Act) -> Outcome:
    """Hears one thing, then both, then the other; two more ears hear one thing each from beginning to end."""
    clock = RealClock()
    service = _service(act, clock.now())
    async with (
        serve(service, clock) as base,
        asyncio.timeout(600),
        _listening(act, service, base, act.one) as one,
        _listening(act, service, base, act.other) as other,
        _listening(act, service, base, act.one) as ear,
    ):
        return await _play(act, service, clock, (one, other, ear))


async def _play(act: Act, service: SimulatedService, clock: RealClock, ears: tuple[Ear, Ear, Ear]) -> Outcome:
    one, other, ear = ears
    moment = service.world.settings.moment
    for each in ears:
        await each.until(lambda rows: rows[0]["state"] == "live", "select state from streams")
    await clock.sleep_until(clock.now() + SECOND)
    began, asked, effective = moment(clock.now()), [], []
    for number, options in enumerate((act.both, act.other), start=1):
        await clock.sleep_until(clock.now() + 4 * SECOND)
        asked.append(moment(clock.now()))
        wanted = structs.replace(ear.streamer.wanted, options=ear.speaks.subscription(act.channel, options).options)
        assert await ear.streamer.retune(wanted, REASON)
        is_done = f"select count(*) as done from changes where effective_at is not null having count(*) >= {number}"
        await ear.until(bool, is_done)
        effective.append(moment(clock.now()))
    # Longer than two connections are heard together.
    await clock.sleep_until(clock.now() + 7 * SECOND)
    # However long that takes on a busy machine.
    await ear.until(lambda rows: rows[0]["flying"] == 1, "select count(*) as flying from calls where state = 'flying'")
    alone = moment(clock.now())
    await clock.sleep_until(clock.now() + 4 * SECOND)
    ended = moment(clock.now())
    # What was written until then is on its way for as long as it takes on a busy machine; what comes after it, comes later.
    for each in ears:
        await each.until(lambda rows: (rows[0]["last"] or 0) > to_micros(ended), "select max(created_at) as last from posts")
    return Outcome(
        one=await one.told(),
        other=await other.told(),
        ear=await ear.told(),
        began=began,
        asked=asked,
        effective=effective,
        alone=alone,
        # A post may be told later than newer ones: on a busy machine by more than a second.
        ended=ended - timedelta(seconds=3 * act.pace),
        changes=await ear.rows("select * from changes order by change"),
        gaps=await ear.rows("select * from gaps order by gap"),
        calls=await ear.rows("select * from calls order by call"),
        slack=timedelta(seconds=2 * act.pace),
        connections=(await ear.rows("select connections from streams"))[0]["connections"],
    )


def _service(act: Act, now: datetime) -> SimulatedService:
    world = WorldSettings(
        seed=7,
        accounts=act.accounts,
        start=now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1),
        history=timedelta(days=2),
        longest_history=20,
        posts_per_day=6.0 if act.channel == "hashtag" else 1.5,
        pace=act.pace,
        since=now,
    )
    return simulate(Setup(dialect=act.dialect, world=world, scale=Scale(limits=200), tokens=0, sample=0.3))


@asynccontextmanager
async def _listening(act: Act, service: SimulatedService, base: str, options: Options) -> AsyncIterator[Ear]:
    clock = RealClock()
    number = len(list(service.tokens))
    tokens = [service.tokens.issue(act.token, app=f"a{number}", account=f"u{number}-{n}") for n in range(act.tokens)]
    transport = HttpTransport(clock, "bowerbird-test")
    database = await open_database(":memory:", clock)
    await database.create_tables()
    ear = await _ear(act, (service, base), tokens, options, (database, transport, clock))
    running = asyncio.create_task(ear.streamer.run())
    try:
        yield ear
    finally:
        ear.streamer.end()
        await running
        await transport.close()
        await database.close()


async def _ear(
    act: Act,
    where: tuple[SimulatedService, str],
    tokens: Sequence[Token],
    options: Options,
    around: tuple[Database, HttpTransport, RealClock],
) -> Ear:
    (simulated, base), (database, transport, clock) = where, around
    service = Service(name="simulated", provider=act.dialect, base=base)
    # The network's time runs ahead of ours: a cursor of it is no time that has not come.
    speaks = provider(act.dialect, now=lambda: simulated.world.settings.moment(clock.now()), base=base)
    assert isinstance(speaks, Provider)
    wanted = structs.replace(speaks.subscription(act.channel, options), name="ear", owner=f"o{id(tokens)}")
    vault = TokenVault(act.dialect, tokens, base=base)
    async with database.transaction() as tx:
        crawl = (await registry.enrol_crawl(tx, "crawl", "{}", "{}", clock.now())).crawl
        number = await registry.enrol_service(tx, service, speaks.network)
        worker = await registry.enrol_worker(tx, "crawl", clock.now())
        stream = await enrol_stream(tx, crawl, number, wanted)
        lane = await registry.enrol_lane(tx, crawl, number, "stream")
    ledgers = RateLimits(pace=False)
    frontier = TaskFrontier(database, lambda: worker, lease=3 * MINUTE, call=MINUTE)
    books = Bookkeeping(
        crawl=crawl,
        database=database,
        clock=clock,
        frontier=frontier,
        ledgers=ledgers,
        log=QueryLog(crawl, lambda: worker),
    )
    store = CountingStore(database)
    targets = Targets(frontier, ServedLanes({}), Scheduler(ledgers))
    hearing = Hearing(books, store, targets, Signer(vault, transport, clock), Tally(clock.now()))
    channel = speaks.channels[act.channel]
    change = structs.replace(channel.facet, limits=channel.change)
    keys = [
        StreamKey(each.name, *(tuple(call_charges(facet, service.name, each)) for facet in (channel.facet, change)))
        for each in vault.credentials()
    ]
    async with database.transaction() as tx:
        await ledgers.load(tx)
    made = Stream(
        stream=stream,
        crawl=crawl,
        me=lambda: worker,
        lane=lane,
        tuning=Tuning(wanted),
        service=service,
        host=service,
        provider=speaks,
        seeder=FlowSeeder(FLOW, {}),
        keys=KeyRotation(keys or [StreamKey()]),
    )
    return Ear(Streamer(hearing, made), speaks, database, store)
