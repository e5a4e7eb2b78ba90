"""One rehearsal: the real engine runs the model of a crawl on a stage, in virtual time, and its course is written down."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.app import Crawl, Outside, open_crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.files.crawl_file import CrawlPlan
from bowerbird.crawl.files.seed_list import SeedList
from bowerbird.crawl.worker import NOTHING_LEFT
from bowerbird.model import Charge, Credential, Subject, WindowKind
from bowerbird.planning.cast import RehearsalVault
from bowerbird.planning.course import Bucket, Course, Sample, Use
from bowerbird.planning.scaling import Model, batch_of, kind_in_use, model_of, scaled_flow, scaled_limits
from bowerbird.planning.stage import Stage, is_growing
from bowerbird.ports import Row
from bowerbird.simulated.pictures import Pictures
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.x_v2 import XV2Dialect

_SELDOM = timedelta(days=1)
_FIRST_LOOK = timedelta(seconds=20)
_GROWTH = 1.06
_FULL_LOOKS = (timedelta(hours=6), timedelta(days=1), timedelta(days=2))
_PATIENCE = timedelta(minutes=10)
_FEWEST = 500
_MOST_LISTS = 1_000
_TOO_MANY = 10
"""So many times the items that a model was made for."""

_TASKS = """
select coalesce(sum(case when state in ('waiting', 'leased') then 1 else 0 end), 0) as waiting,
       coalesce(sum(case when state not in ('waiting', 'leased') then 1 else 0 end), 0) as done from tasks
"""
_BYTES = "select (select page_count from pragma_page_count()) * (select page_size from pragma_page_size()) as bytes"
_USES = "select lane, credential, count(*) as calls from calls group by lane, credential order by lane, credential"
_LEDGERS = "select bucket, spent, allowance, window_micros, kind from ledgers order by bucket"


class Scope(Struct, frozen=True, kw_only=True):
    """How much is rehearsed."""

    length: timedelta = timedelta(days=2)
    items: int = 3_000
    """About how many items a model is made to bring; a rehearsal that brings many more than it should is ended."""
    calls: int = 2_500
    """After so many calls the rehearsal ends."""


def rehearse(plan: CrawlPlan, credentials: tuple[Credential, ...], world: WorldSettings, scope: Scope, seeds: int) -> Course:
    """The course of a crawl of that many seeds, in a world of these settings."""

    async def main(clock: VirtualClock) -> Course:
        whole = _roomy(world) if is_growing(plan) else world
        stage = Stage(plan, credentials, whole)
        model = _model(plan, stage, scope, seeds)
        if model.factor < 1 and is_growing(plan):
            stage = Stage(plan, credentials, _shrunk(whole, model))
        return await _Rehearsal(plan, credentials, stage, model, _shorter(scope) if is_growing(plan) else scope).run(clock)

    course: Course = run_virtual(main, start=world.start)
    return course


def _model(plan: CrawlPlan, stage: Stage, scope: Scope, seeds: int) -> Model:
    batch, wanted = batch_of(plan), int(scope.items / max(stage.load, 1e-9))
    # Who goes along lists fills its batches with those it finds: a few seeds are enough, and a whole batch of them too many.
    return model_of(seeds, stage.load, 1 if is_growing(plan) and wanted < batch else batch, scope.items)


def _shorter(scope: Scope) -> Scope:
    """Calls along lists bring many times the items of others, and take as much longer to rehearse."""
    return structs.replace(scope, calls=min(scope.calls, _MOST_LISTS))


def _roomy(world: WorldSettings) -> WorldSettings:
    """Ten times the accounts: who goes along lists must not come to the end of the world."""
    return structs.replace(world, accounts=10 * world.accounts)


def _shrunk(world: WorldSettings, model: Model) -> WorldSettings:
    """As many times fewer accounts as seeds, so that lists have as much in common as those of all seeds."""
    return structs.replace(world, accounts=max(_FEWEST, round(world.accounts * model.factor)))


class _Rehearsal:
    def __init__(self, plan: CrawlPlan, credentials: tuple[Credential, ...], stage: Stage, model: Model, scope: Scope) -> None:
        self._stage = stage
        self._scope = scope
        self._seeds = stage.seeds(model)
        # A world has only so many accounts and posts; fewer are played rather than the same one twice.
        self._model = structs.replace(model, played=len(self._seeds) or model.played)
        self._credentials = credentials
        self._stop = plan.flow.stop
        self._plan = self._played(plan)
        self._samples: list[Sample] = []
        self._was_cut = False
        self._most = _TOO_MANY * max(scope.items, stage.load * self._model.played)
        asked = {use.name for use in plan.flow.facets}
        self._knows_truth = "timeline" in asked and stage.subject is Subject.USER and not plan.flow.filters.max_depth

    async def run(self, clock: VirtualClock) -> Course:
        vault = RehearsalVault(self._credentials, self._stage.values)
        transport = self._stage.transport(clock, self._model.network(self._stage.world.settings.seed))
        outside = Outside(clock=clock, transport=transport, vault=vault, media=Pictures(clock), glance=_SELDOM)
        async with open_crawl(self._plan, outside) as crawl:
            self._empty = await self._size(crawl)
            watching = asyncio.create_task(self._watch(crawl, clock))
            ending = await crawl.session.run(crawl.seeds, slots=crawl.plan.concurrency, watch_every=_PATIENCE)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self._samples.append(await self._look(crawl, clock, is_full=True))
            return await self._course(crawl, ending.reason)

    def _played(self, plan: CrawlPlan) -> CrawlPlan:
        by_name = {each.name: each for each in self._credentials}
        services = tuple(
            structs.replace(each, limits=scaled_limits(each, plan, kind_in_use(each, by_name), self._model))
            for each in plan.services
        )
        flow = scaled_flow(plan.flow, self._model)
        length = min(self._scope.length, flow.stop.duration or self._scope.length)
        flow = structs.replace(flow, stop=structs.replace(flow.stop, duration=length))
        return structs.replace(
            plan, store=":memory:", flow=flow, services=services, seeds=SeedList(self._seeds), backup=None, media=None
        )

    async def _watch(self, crawl: Crawl, clock: VirtualClock) -> None:
        """Looks more and more seldom, and ends a rehearsal that has become too long."""
        wait, full = _FIRST_LOOK, list(_FULL_LOOKS)
        while True:
            await clock.sleep_until(self._stage.start + wait)
            is_full = bool(full) and wait >= full[0]
            self._samples.append(await self._look(crawl, clock, is_full=is_full))
            if is_full:
                full.pop(0)
            if crawl.tally.calls >= self._scope.calls or crawl.tally.items >= self._most:
                self._was_cut = True
                crawl.session.end("the rehearsal is long enough")
                return
            wait = min(wait * _GROWTH, full[0] if full and wait < full[0] else wait * _GROWTH)

    async def _look(self, crawl: Crawl, clock: VirtualClock, *, is_full: bool) -> Sample:
        now, tally = clock.now(), crawl.tally
        wanted, complete = await self._complete(crawl, now) if is_full and self._knows_truth else (0, None)
        async with crawl.database.reading() as tx:
            tasks = (await tx.fetch(_TASKS))[0]
            ledgers = await tx.fetch(_LEDGERS)
        return Sample(
            at=now - self._stage.start,
            calls=tally.calls,
            items=tally.items,
            users=tally.users,
            posts=tally.posts,
            bytes=await self._size(crawl) - self._empty,
            dollars=self._dollars(now),
            waiting=int(tasks["waiting"]),
            done=int(tasks["done"]),
            spent={row["bucket"]: row["spent"] for row in ledgers},
            complete=complete,
            wanted=wanted,
        )

    async def _size(self, crawl: Crawl) -> int:
        async with crawl.database.reading() as tx:
            return int((await tx.fetch(_BYTES))[0]["bytes"])

    def _dollars(self, now: datetime) -> float:
        """What X would have charged up to now."""
        dialects = [each.dialect for each in self._stage.services.values()]
        apps = {each.app or "app" for each in self._credentials if each.provider == "x"}
        return sum(each.meter.spent(app, now) / 1000 for each in dialects if isinstance(each, XV2Dialect) for app in apps)

    async def _complete(self, crawl: Crawl, now: datetime) -> tuple[int, float]:
        """How many posts the seeds have written, and which part of them is stored."""
        async with crawl.database.reading() as tx:
            keys = {str(row["key"]) for row in await tx.fetch("select key from post_keys")}
            ids = {str(row["id"]) for row in await tx.fetch("select id from posts")}
        stored = keys | ids | {each.partition(":")[2] for each in ids}
        wanted = self._stage.expected_posts(self._seeds, now)
        return len(wanted), len(wanted & stored) / len(wanted) if wanted else 1.0

    async def _course(self, crawl: Crawl, reason: str) -> Course:
        async with crawl.database.reading() as tx:
            uses, ledgers = await tx.fetch(_USES), await tx.fetch(_LEDGERS)
        stop = self._plan.flow.stop.duration or self._scope.length
        is_over = self._samples[-1].at >= stop and stop >= self._scope.length
        course = Course(
            factor=self._model.factor,
            samples=tuple(self._samples),
            is_finished=not self._was_cut and not is_over,
            uses=tuple(self._use(crawl, row["lane"], row["credential"], row["calls"]) for row in uses),
            buckets=(),
            stop=self._stop,
            reason=self._met(crawl, reason),
        )
        buckets = [_bucket(course, row) for row in ledgers if row["window_micros"]]
        return structs.replace(course, buckets=tuple(sorted(buckets, key=lambda each: -each.used)))

    def _met(self, crawl: Crawl, reason: str) -> str:
        """Which condition of the crawl's own was met, in its own numbers; nothing when everything was asked."""
        size, played = crawl.tally.size(), self._plan.flow.stop
        for name in ("calls", "items", "users", "posts"):
            limit = getattr(played, name)
            if limit is not None and getattr(size, name) >= limit:
                return f"{getattr(self._stop, name):,} {name} are reached"
        return "" if reason.startswith(NOTHING_LEFT) else reason

    def _use(self, crawl: Crawl, lane: int, credential: str | None, calls: int) -> Use:
        found = crawl.lanes.get(lane)
        charges = crawl.charges.get(lane, {}).get(credential, ())
        slowest = max((_pace(charge) for charge in charges), default=timedelta(0))
        return Use(
            service=found.service.name if found else "",
            facet=found.facet.name if found else "stream",
            credential=credential,
            calls=calls / self._model.factor,
            hours=calls * slowest / timedelta(hours=1),
        )


def _pace(charge: Charge) -> timedelta:
    """The time a limit needs for one call; those that count only some calls say nothing about all."""
    if charge.limit.only_paged or charge.limit.kind is WindowKind.MONTH:
        return timedelta(0)
    return charge.limit.window * charge.limit.per_call / charge.limit.allowance


def _bucket(course: Course, row: Row) -> Bucket:
    """How much of what a bucket allowed was used until the crawl had ended or caught up."""
    busy = min(course.length, course.done_after)
    windows = busy // timedelta(microseconds=row["window_micros"]) + 1
    return Bucket(name=row["bucket"], used=min(1.0, course.spent(row["bucket"], busy) / (row["allowance"] * windows)))
