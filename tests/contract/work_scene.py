"""A crawl of two facets for tests of work sources: `profile`, which needs a key, and `timeline`, which anybody may ask.

The service answers in words: `posts 3 4` or, for a refusal, an HTTP status alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.life import registry
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.crawl.work.bookkeeping import Bookkeeping, QueryLog
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.servers.server_watch import ServerWatch
from bowerbird.crawl.work.settling import Settler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.crawl.work.targets import Targets
from bowerbird.db import open_database
from bowerbird.flows.flow import FacetUse, Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits, call_charges
from bowerbird.model import (
    Answer,
    Arrival,
    Ask,
    Credential,
    Facet,
    Limit,
    Offer,
    Outcome,
    Page,
    Post,
    Request,
    Secret,
    Service,
    Subject,
    Turn,
    User,
    WindowKind,
)
from bowerbird.policies.registry import ranker
from bowerbird.ports import Clock, Database, Row, WorkSource
from bowerbird.store import Store

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
ALLOWANCE = 10
SERVICE = Service(name="bird", provider="wordy", base="https://bird.example")
FLOW = Flow(name="small", facets=(FacetUse("profile"), FacetUse("timeline")))
PER_KEY = Limit(bucket="{service}/{credential}", allowance=ALLOWANCE, window=15 * MINUTE, kind=WindowKind.FIRST_CALL)
UNASKABLE = "unaskable"
_REFUSALS = {401: Outcome.BAD_TOKEN, 429: Outcome.RATE_LIMITED, 503: Outcome.OVERLOADED}


class WordyProvider:
    """Reads the words of this module."""

    name = "wordy"
    network = "x"
    facets: Mapping[str, Facet] = {
        "profile": Facet(
            name="profile", subject=Subject.USER, yields=frozenset({"users"}), limits=(PER_KEY,), objects_per_call=2
        ),
        "timeline": Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}), is_incremental=True),
    }

    def request(self, ask: Ask) -> Request:
        if UNASKABLE in ask.targets:
            raise ArithmeticError("a fault of our own")
        return Request(path=f"/{ask.facet}", query=tuple(("of", target) for target in ask.targets))

    def sign(self, request: Request, secret: Secret) -> Request:
        return structs.replace(request, headers={"authorization": secret.values["token"]})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        if answer.status != 200:
            return Page(outcome=_REFUSALS[answer.status], detail=f"HTTP {answer.status}")
        numbers = answer.body.decode().split()[1:]
        author = ask.targets[0]
        return Page(
            users=tuple(User(id=f"x:{key}", key=key, handle=f"u{key}") for key in ask.targets),
            posts=tuple(Post(id=f"x:{number}", key=number, author=f"x:{author}", text="t") for number in numbers),
            results=len(numbers) or len(ask.targets),
        )

    def is_paged(self, ask: Ask) -> bool:
        return False

    def target(self, text: str, facet: Facet) -> str:
        return text


Wrap = Callable[["Scene", LocalWorkSource], Awaitable[WorkSource]]
"""How a worker reaches a source."""


class Scene:
    """One crawl; each source is that of a new worker."""

    def __init__(self, clock: Clock, database: Database, wrap: Wrap) -> None:
        self.clock = clock
        self.database = database
        self._wrap = wrap
        self.worker = 0
        self._lanes: dict[str, int] = {}
        self._targets: Targets
        self.ends = AsyncExitStack()
        """What ends with the scene."""

    async def source(self, *keys: str) -> WorkSource:
        """A work source of a crawl that may ask `profile` with these credentials."""
        provider, ledgers = WordyProvider(), RateLimits(pace=False)
        async with self.database.transaction() as tx:
            now = self.clock.now()
            crawl = (await registry.enrol_crawl(tx, "crawl", "{}", "{}", now)).crawl
            service = await registry.enrol_service(tx, SERVICE, "x")
            worker = self.worker = await registry.enrol_worker(tx, "crawl", now)
            self._lanes = {use.name: await registry.enrol_lane(tx, crawl, service, use.name) for use in FLOW.facets}
            await ledgers.load(tx)
        seeder, scheduler = FlowSeeder(FLOW, self._lanes), Scheduler(ledgers)
        lanes = ServedLanes({number: _lane(number, provider, name, seeder) for name, number in self._lanes.items()})
        credentials = [Credential(name=key, provider="wordy") for key in keys]
        options = {each.name: call_charges(provider.facets["profile"], "bird", each) for each in credentials}
        if options:
            scheduler.add(Turn(self._lanes["profile"]), 1.0, options)
        scheduler.add(Turn(self._lanes["timeline"]), 1.0, {None: ()})
        frontier = TaskFrontier(self.database, lambda: worker, lease=3 * MINUTE, call=MINUTE)
        books = Bookkeeping(
            crawl=crawl,
            database=self.database,
            clock=self.clock,
            frontier=frontier,
            ledgers=ledgers,
            log=QueryLog(crawl, lambda: worker),
        )
        self._targets = Targets(frontier, lanes, scheduler)
        watch = ServerWatch(lanes, scheduler, frontier, lambda: keys)
        settler = Settler(books, Store(self.database), self._targets, watch)
        return await self._wrap(self, LocalWorkSource(books, lanes, scheduler, watch, settler))

    async def add(self, facet: str, *targets: str) -> None:
        async with self.database.transaction() as tx:
            arrivals = [Arrival(lane=self._lanes[facet], target=target) for target in targets]
            await self._targets.add(tx, arrivals, None, self.clock.now())

    def offer(self, *keys: str, room: int = 1, facets: Sequence[str] = ("profile", "timeline")) -> Offer:
        return Offer(worker=self.worker, room=room, credentials=frozenset(keys), facets=frozenset(facets))

    def answer(self, words: str = "", status: int = 200) -> Answer:
        now = self.clock.now()
        return Answer(status=status, body=words.encode(), sent_at=now, received_at=now)

    async def wait(self, how_long: timedelta) -> None:
        await self.clock.sleep_until(self.clock.now() + how_long)

    async def rows(self, sql: str, *values: Any) -> Sequence[Row]:
        async with self.database.reading() as tx:
            return await tx.fetch(sql, *values)

    async def calls(self) -> list[tuple[str, str | None]]:
        """State and outcome of every call, in order."""
        return [(row["state"], row["outcome"]) for row in await self.rows("select state, outcome from calls order by call")]

    async def posts(self) -> list[str]:
        return [row["id"] for row in await self.rows("select id from posts order by id")]

    async def kill(self, worker: int) -> None:
        """Others take this worker for dead."""
        async with self.database.transaction() as tx:
            await registry.end_workers(tx, [worker], self.clock.now())


def _lane(number: int, provider: WordyProvider, facet: str, seeder: FlowSeeder) -> Lane:
    return Lane(
        lane=number,
        service=SERVICE,
        provider=provider,
        facet=provider.facets[facet],
        ranker=ranker("fifo", {}, None),
        seeder=seeder,
    )


def play(work: Callable[[Scene], Awaitable[None]], where: str, wrap: Wrap) -> None:
    """Runs `work` in virtual time on a database of its own."""

    async def main(clock: VirtualClock) -> None:
        database = await open_database(where, clock)
        await database.create_tables()
        try:
            scene = Scene(clock, database, wrap)
            async with scene.ends:
                await work(scene)
        finally:
            await database.close()

    run_virtual(main)


def at(when: datetime) -> str:
    return f"{when:%H:%M:%S}"
