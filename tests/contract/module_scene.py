"""A crawl with modules, without its services: what tests of modules share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db import open_database
from bowerbird.db.sqlite.short_columns import written
from bowerbird.flows.flow import FacetUse, Flow
from bowerbird.flows.modules import ModuleUse
from bowerbird.model import Service
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.modules.running.context import Surroundings
from bowerbird.modules.running.runner import Ran, Runner
from bowerbird.ports import Database, Judge, Messenger, Module, ModuleContext, Row, Transaction
from bowerbird.store.for_modules import StoredThings

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Asked(Struct):
    """Notes what modules have asked; implements `ports.Questions`."""

    facets: frozenset[str] = frozenset({"profiles", "timeline", "followers", "posts"})
    asked: list[tuple[str, list[int], bool]] = []

    async def about_users(
        self, tx: Transaction, facet: str, users: Sequence[int], *, again: bool = False, most: int | None = None
    ) -> int:
        self.asked.append((facet, sorted(users[:most]), again))
        return len(users[:most])

    async def about_posts(self, tx: Transaction, facet: str, posts: Sequence[int], *, again: bool = False) -> int:
        return await self.about_users(tx, facet, posts, again=again)

    def users(self, facet: str) -> list[int]:
        return sorted(number for name, users, _ in self.asked if name == facet for number in users)


class Toy:
    """Counts its runs, and fails when it is told to."""

    name = "toy"
    about = "Counts how often it ran."
    every = HOUR
    options: Mapping[str, ModuleOption] = {"step": ModuleOption(1, "How much is added each time.", least=1)}
    needs: tuple[str, ...] = ()

    def __init__(self, fails: Sequence[int] = ()) -> None:
        self.fails = list(fails)
        self.times: list[datetime] = []

    async def run(self, context: ModuleContext) -> Counts:
        self.times.append(context.clock.now())
        async with context.transaction():
            context.memory["ran"] = context.memory.get("ran", 0) + context.options["step"]
        if len(self.times) in self.fails:
            raise ValueError("told to fail")
        return {"ran": context.memory["ran"]}


class Scene:
    """One store with one crawl, and modules around it."""

    def __init__(self, database: Database, clock: VirtualClock) -> None:
        self.database = database
        self.clock = clock
        self.asked = Asked()
        self.judges: dict[str, Judge] = {}
        self.places: set[str] = set()
        self.messenger: Messenger | None = None
        self.worker = 0

    async def begin(self, flow: Flow | None = None) -> Scene:
        flow = flow or Flow("toys", (FacetUse("timeline"),))
        async with self.database.transaction() as tx:
            await registry.enrol_crawl(tx, "c", msgspec.json.encode(flow).decode(), "{}", self.clock.now())
            await registry.enrol_service(tx, Service(name="s", provider="x", base="https://s.example"), "x")
            self.worker = await registry.enrol_worker(tx, "c", self.clock.now())
        return self

    def around(self, worker: int | None = None) -> Surroundings:
        number = worker or self.worker
        return Surroundings(
            crawl=1,
            crawl_name="c",
            database=self.database,
            clock=self.clock,
            claims=WorkerClaims(lambda: number),
            worker=lambda: number,
            questions=self.asked,
            stored=StoredThings(self.database),
            judge=self.judges.get,
            knows_place=lambda name: name in self.places,
            messenger=self.messenger,
        )

    def runner(self, module: Module, worker: int | None = None, **use: Any) -> Runner:
        return Runner(module, ModuleUse(name=module.name, **use), self.around(worker))

    async def run(self, module: Module, **options: Any) -> Counts:
        """What a run by hand counts; raises where it failed."""
        ran: Ran = await self.runner(module, options=options).by_hand()
        assert ran.error is None, ran.error
        return ran.counts

    async def rows(self, sql: str, *values: Any) -> Sequence[Row]:
        async with self.database.reading() as tx:
            return await tx.fetch(sql, *values)

    async def write(self, *statements: str) -> None:
        async with self.database.transaction() as tx:
            for statement in statements:
                await tx.execute(statement)

    async def people(self, **judged: Sequence[int]) -> None:
        """Accounts 1 to 40 with profiles; `yes=[1, 2]`: judged so by the judge `community`."""
        at = int(START.timestamp() * 1e6)
        async with self.database.transaction() as tx:
            await tx.execute_many(
                "insert into users (user_no, id, network, handle, found_at, seen_at, followers, following, posts) "
                "values (?, ?, 'x', ?, ?, ?, 5, 5, 10) on conflict do nothing",
                [(number, f"x:{number}", f"user{number}", at, at) for number in range(1, 41)],
            )
            await tx.execute_many(
                "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call) "
                "values ('community', 'user', ?, ?, 'profile', 1, 0.9, '{}', '1', ?, 0)",
                [(f"x:{number}", value, at) for value, numbers in judged.items() for number in numbers],
            )

    async def post(self, number: int, author: int, at: datetime | None = None, **fields: Any) -> None:
        when = int((at or START).timestamp() * 1e6)
        names = {"post_no": number, "id": f"x:{number}", "network": "x", "author": author, "kind": "post", "created_at": when,
                 "found_at": when, "found_by": 1, "seen_at": when, "seen_by": 1, **fields}  # fmt: skip
        columns = ", ".join(written(self.database.dialect, name) for name in names)
        async with self.database.transaction() as tx:
            places = ", ".join("?" for _ in names)
            await tx.execute(f"insert into posts ({columns}) values ({places})", *names.values())


def played(url: str, play: Callable[[Scene], Awaitable[Any]]) -> Any:
    """Plays something in virtual time on a fresh database."""

    async def main(clock: VirtualClock) -> Any:
        database = await open_database(url, clock)
        await database.create_tables()
        try:
            return await play(await Scene(database, clock).begin())
        finally:
            await database.close()

    return run_virtual(main, start=START)
