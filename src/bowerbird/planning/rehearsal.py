"""One rehearsal: the real engine runs the model of a crawl on a stage, in virtual time, and its course is written down."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from math import inf
from typing import cast

from msgspec import Struct, structs

from bowerbird.app import Crawl, Outside, open_crawl
from bowerbird.clock import VirtualClock, VirtualLoop, run_virtual
from bowerbird.crawl.process.endings import BUDGET_SPENT, EXHAUSTED, GOOD_ENOUGH
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.limits.bucket import BURST
from bowerbird.limits.budget import budget_statuses, is_budget
from bowerbird.model import Charge, Credential, Progress, Subject, TaskState, WindowKind
from bowerbird.planning.budget import MONEY, means_of, most_items, with_means
from bowerbird.planning.cast import RehearsalVault
from bowerbird.planning.course import ENOUGH, Bucket, Course, Milestone, Use, may_run
from bowerbird.planning.scaling import Model, batch_of, kind_in_use, model_of, scaled_flow, scaled_limits
from bowerbird.planning.stage import Stage, is_growing
from bowerbird.ports import Row
from bowerbird.reports.studies.sample import Figure, read_samples
from bowerbird.simulated.serving.pictures import Pictures
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.settings import PlannedEvent

_SELDOM = timedelta(days=1)
_GLANCES = 20
"""How often the loop of calls looks up in a frame of an event."""
_UNDER_WAY = Progress(cursor="1", newest="1")
_MOMENT = timedelta(milliseconds=1)
_FIRST_LOOK = timedelta(seconds=20)
_GROWTH = 1.06
_FULL_LOOKS = (timedelta(hours=6), timedelta(days=1), timedelta(days=2))
_PATIENCE = timedelta(minutes=10)
_FEWEST = 500
_MOST_LISTS = 1_000
_MOST_STARTS = 1_000
_WALK = 2
"""So many times the calls are rehearsed of a sample: long before its end nobody can say when that is."""
EVENT_POSTS = 1_000
"""Posts about the event of a rehearsal, in a world in which people write as usual."""
_DRAWN_SHARE = 0.3
"""Share of the posts drawn for an event that are written: people far away write less about it."""
_EVENT_AGE = timedelta(hours=1)
_EVENT_LENGTH = timedelta(hours=3)
"""Of an event no more is rehearsed: a method takes up to half a second of processor time for a frame."""
_FEWEST_WALKED = 500
"""After fewer calls nobody can say anything of a sample."""
_LATER = 1.08
"""So many times the calls are made until that is asked again."""
_JUDGED_LATE = 1.05
"""A sample is judged when a tenth more calls were made: half of that goes by, on average, after it has become good enough."""
_TOO_MANY = 10
"""So many times the items that a model was made for."""

_TASKS = f"""
select coalesce(sum(case when state in ('{TaskState.WAITING}', '{TaskState.LEASED}') then 1 else 0 end), 0) as waiting,
       coalesce(sum(case when state not in ('{TaskState.WAITING}', '{TaskState.LEASED}') then 1 else 0 end), 0) as done from tasks
"""
# A bill lies in a table and in an index, each about four fifths full.
_DISK = """
select (select page_count from pragma_page_count()) * size as bytes,
       (select freelist_count from pragma_freelist_count()) * size as free,
       (select coalesce(sum(length(payer) + length(item) + 12), 0) * 2.5 from bills) as bills
from (select page_size as size from pragma_page_size())
"""
_READ = "select t.target from tasks t join lanes l on l.lane = t.lane where l.facet = 'timeline' and t.visits > 0"
_USES = """
select lane, credential, count(*) as calls from calls where facet <> 'survey'
group by lane, credential order by lane, credential
"""
_LEDGERS = "select bucket, spent, allowance, window_micros, kind from ledgers order by bucket"


class Scope(Struct, frozen=True, kw_only=True):
    """How much is rehearsed."""

    length: timedelta = timedelta(days=2)
    items: int = 3_000
    """About how many items a model is made to bring; a rehearsal that brings many more than it should is ended."""
    calls: int = 2_500
    """After so many calls the rehearsal ends."""
    of_sample: float = 1.0
    """Of a sample this part of the calls that it seems to take; when it is good enough is then reckoned."""


class _Unhurried(VirtualClock):
    """Virtual time in which nothing takes this machine any: what it took for a call is written into a row, and a plan would tell
    another disk each time."""

    def stopwatch(self) -> float:
        return 0.0


def rehearse(plan: CrawlPlan, credentials: tuple[Credential, ...], world: WorldSettings, scope: Scope, seeds: int) -> Course:
    """The course of a crawl of that many seeds, in a world of these settings."""

    async def main(_: VirtualClock) -> Course:
        clock, whole = _Unhurried(cast("VirtualLoop", asyncio.get_running_loop()), world.start), world_of(plan, world)
        stage = Stage(plan, credentials, whole)
        model = _model(plan, stage, scope, seeds)
        if model.factor < 1 and is_growing(plan):
            stage = Stage(plan, credentials, _shrunk(whole, model))
        return await _Rehearsal(plan, credentials, stage, model, _fitting(scope, plan)).run(clock)

    course: Course = run_virtual(main, start=world.start)
    return course


def _model(plan: CrawlPlan, stage: Stage, scope: Scope, seeds: int) -> Model:
    if plan.flow.keywords is not None:
        # Seeds of one event: more of them do not make it larger.
        starts = len(stage.event_seeds())
        return Model(starts, starts)
    if plan.flow.walks:
        # A sample takes as many calls from few seeds as from many.
        starts = min(seeds, _MOST_STARTS)
        return Model(starts, starts)
    # A budget that is soon spent ends the crawl long before all seeds are asked.
    load = min(stage.load, most_items(plan) / seeds)
    batch, wanted = batch_of(plan), int(scope.items / max(load, 1e-9))
    # Who goes along lists fills its batches with those it finds: a few seeds are enough, and a whole batch of them too many.
    return model_of(seeds, load, 1 if is_growing(plan) and wanted < batch else batch, scope.items)


def _fitting(scope: Scope, plan: CrawlPlan) -> Scope:
    """Calls along lists bring many times the items of others, and take as much longer to rehearse."""
    if plan.flow.keywords is not None:
        return structs.replace(scope, length=min(scope.length, _EVENT_LENGTH))
    if plan.flow.walks:
        return structs.replace(scope, calls=_WALK * scope.calls, items=_TOO_MANY * scope.items)
    return structs.replace(scope, calls=min(scope.calls, _MOST_LISTS)) if is_growing(plan) else scope


def world_of(plan: CrawlPlan, world: WorldSettings) -> WorldSettings:
    """Return the world of a rehearsal: one with an event for event crawls, and with more accounts for crawls along lists."""
    if plan.flow.keywords is not None:
        drawn = EVENT_POSTS / _DRAWN_SHARE * world.posts_per_day / WorldSettings().posts_per_day
        return structs.replace(world, planned=PlannedEvent(begins=world.start - _EVENT_AGE, posts=round(drawn)))
    return structs.replace(world, accounts=10 * world.accounts) if is_growing(plan) else world


def _shrunk(world: WorldSettings, model: Model) -> WorldSettings:
    """As many times fewer accounts as seeds, so that lists have as much in common as those of all seeds."""
    return structs.replace(world, accounts=max(_FEWEST, round(world.accounts * model.factor)))


def virtual_glance(plan: CrawlPlan) -> timedelta:
    """Return how often the loop of calls looks for new tasks in virtual time, where no other process adds any.

    The probes of an event are added beside the loop, in every frame.
    """
    keywords = plan.flow.keywords
    return _SELDOM if keywords is None else keywords.frame / _GLANCES


class _Rehearsal:
    def __init__(self, plan: CrawlPlan, credentials: tuple[Credential, ...], stage: Stage, model: Model, scope: Scope) -> None:
        self._stage = stage
        self._scope = scope
        self._seeds = stage.seeds(model)
        # A world has only so many accounts and posts; fewer are played rather than the same one twice.
        self._model = structs.replace(model, played=len(self._seeds) or model.played)
        self._credentials = credentials
        self._means = means_of(plan)
        self._stop = structs.replace(plan.flow.stop, dollars=self._means.dollars if self._means else None)
        self._plan = self._played(plan)
        self._samples: list[Milestone] = []
        self._was_cut = False
        self._judged_again: float = _FEWEST_WALKED
        self._most = _TOO_MANY * max(scope.items, stage.load * self._model.played)
        asked = {use.name for use in plan.flow.facets}
        # Who goes on to others' timelines has hardly begun when it has those of the seeds.
        is_about_others = is_growing(plan) or bool(plan.flow.filters.max_depth)
        self._knows_truth = "timeline" in asked and stage.subject is Subject.USER and not is_about_others

    async def run(self, clock: VirtualClock) -> Course:
        vault = RehearsalVault(self._credentials, self._stage.values)
        transport = self._stage.transport(clock, self._model.network(self._stage.world.settings.seed))
        outside = Outside(clock=clock, transport=transport, vault=vault, media=Pictures(clock), glance=virtual_glance(self._plan))
        async with open_crawl(self._plan, outside) as crawl:
            self._empty = (await self._disk(crawl))["bytes"]
            watching = asyncio.create_task(self._watch(crawl, clock))
            ending = await crawl.process.run(crawl.seeds, slots=crawl.plan.concurrency, watch_every=_PATIENCE)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self._end_with(await self._look(crawl, clock, is_full=True))
            return await self._course(crawl, ending.reason)

    def _end_with(self, last: Milestone) -> None:
        """A loop that rests looks up only when something comes due, which may be long after its time was over: what is seen then
        is how it was at the end."""
        over = self._plan.flow.stop.duration or last.at
        self._samples = [each for each in self._samples if each.at < over]
        self._samples.append(structs.replace(last, at=min(last.at, over)))

    def _played(self, plan: CrawlPlan) -> CrawlPlan:
        by_name = {each.name: each for each in self._credentials}
        services = tuple(
            structs.replace(each, limits=scaled_limits(each, plan, kind_in_use(each, by_name), self._model))
            for each in with_means(plan, self._model.factor).services
        )
        flow = scaled_flow(with_means(plan, self._model.factor).flow, self._model)
        length = min(self._scope.length, flow.stop.duration or self._scope.length)
        flow = structs.replace(flow, stop=structs.replace(flow.stop, duration=length, spread_over=flow.stop.duration))
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
            if await self._is_long_enough(crawl):
                self._was_cut = True
                crawl.process.end("the rehearsal is long enough")
                return
            wait = min(wait * _GROWTH, full[0] if full and wait < full[0] else wait * _GROWTH)

    async def _is_long_enough(self, crawl: Crawl) -> bool:
        calls = crawl.tally.calls
        if calls >= self._scope.calls or crawl.tally.items >= self._most:
            return True
        if self._scope.of_sample >= 1 or self._stop.half_width is None or calls < self._judged_again:
            return False
        self._judged_again = calls * _LATER
        # One that is good enough just now is ended by its own judge, or was so by chance.
        return self._scope.of_sample * (enough := await self._enough(crawl)) <= calls < enough

    async def _look(self, crawl: Crawl, clock: VirtualClock, *, is_full: bool) -> Milestone:
        now, tally = clock.now(), crawl.tally
        wanted, hidden, complete = await self._complete(crawl, now) if is_full and self._knows_truth else (0, 0, None)
        disk = await self._disk(crawl)
        async with crawl.database.reading() as tx:
            tasks = (await tx.fetch(_TASKS))[0]
            ledgers = await tx.fetch(_LEDGERS)
        return Milestone(
            # A sleeper wakes a little late, and what is seen then belongs to the hour for which it was set.
            at=(now - self._stage.start) // _MOMENT * _MOMENT,
            calls=tally.calls,
            items=tally.items,
            users=tally.users,
            posts=tally.posts,
            bytes=disk["bytes"] - self._empty,
            free=disk["free"],
            kept=disk["bytes"] - disk["free"] - disk["bills"] - self._empty,
            dollars=_dollars(crawl, now),
            waiting=int(tasks["waiting"]),
            done=int(tasks["done"]),
            spent={row["bucket"]: row["spent"] for row in ledgers},
            complete=complete,
            wanted=wanted,
            hidden=hidden,
        )

    async def _disk(self, crawl: Crawl) -> Row:
        async with crawl.database.reading() as tx:
            return (await tx.fetch(_DISK))[0]

    async def _complete(self, crawl: Crawl, now: datetime) -> tuple[int, int, float]:
        """How many posts the seeds have written, how many of them the network hides, and which part is stored."""
        async with crawl.database.reading() as tx:
            keys = {str(row["key"]) for row in await tx.fetch("select key from post_keys")}
            ids = {str(row["id"]) for row in await tx.fetch("select id from posts")}
            read = {str(row["target"]) for row in await tx.fetch(_READ)}
        stored = keys | ids | {each.partition(":")[2] for each in ids}
        posts = {seed: self._stage.expected_posts(seed, now) for seed in self._seeds}
        hidden = sum(_left_out(posts[seed], stored) for seed in self._seeds if seed in read)
        wanted = {post for own in posts.values() for post in own}
        return len(wanted), hidden, len(wanted & stored) / len(wanted) if wanted else 1.0

    async def _course(self, crawl: Crawl, reason: Failure) -> Course:
        stop = self._plan.flow.stop.duration or self._scope.length
        is_over = self._samples[-1].at >= stop and stop >= self._scope.length
        is_finished = not self._was_cut and not is_over
        async with crawl.database.reading() as tx:
            uses, ledgers = await tx.fetch(_USES), await tx.fetch(_LEDGERS)
        course = Course(
            factor=self._model.factor,
            samples=tuple(self._samples),
            is_finished=is_finished,
            uses=self._uses(crawl, uses, {row["bucket"]: row["spent"] for row in ledgers}),
            buckets=(),
            goes_round=self._plan.flow.goes_round or bool(self._plan.streams),
            enough=None if is_finished or self._stop.half_width is None else _JUDGED_LATE * await self._enough(crawl),
            stop=self._stop,
            reason=self._met(crawl, reason),
            means=self._means,
            was_cut=self._was_cut,
        )
        buckets = [_bucket(course, row) for row in ledgers if row["window_micros"]]
        return structs.replace(course, buckets=tuple(sorted(buckets, key=lambda each: -each.used)))

    def _met(self, crawl: Crawl, reason: Failure) -> str:
        """Which condition of the crawl's own was met, in its own numbers; nothing when everything was asked."""
        size, played = crawl.tally.size(), self._plan.flow.stop
        if reason.code == BUDGET_SPENT and self._means is not None:
            return self._means.words
        for name in ("calls", "items", "users", "posts"):
            limit = getattr(played, name)
            if limit is not None and getattr(size, name) >= limit:
                return f"{getattr(self._stop, name):,} {name} are reached"
        if played.duration is not None and self._samples[-1].at >= played.duration:
            return may_run(played.duration)
        if reason.code == GOOD_ENOUGH:
            return ENOUGH
        return "" if reason.code in EXHAUSTED else str(reason)

    async def _enough(self, crawl: Crawl) -> float:
        """About how many calls the sample takes in all: a half-width shrinks with the root of the calls."""
        samples = await read_samples(crawl.database, names=self._stop.estimates)
        widths = [_width(figure) for sample in samples for figure in sample.figures]
        return crawl.tally.calls * max(1.0, *widths, 0.0 if widths else inf) ** 2

    def _uses(self, crawl: Crawl, rows: Sequence[Row], spent: Mapping[str, float]) -> tuple[Use, ...]:
        taken = [_charges(crawl, row["lane"], row["credential"]) for row in rows]
        calls = Counter[str]()
        for row, charges in zip(rows, taken, strict=True):
            calls.update({charge.bucket: row["calls"] for charge in charges})
        each = {bucket: spent.get(bucket, 0.0) / count for bucket, count in calls.items()}
        return tuple(self._use(crawl, row, charges, each) for row, charges in zip(rows, taken, strict=True))

    def _use(self, crawl: Crawl, row: Row, charges: Sequence[Charge], each: Mapping[str, float]) -> Use:
        """`each`: by bucket, what a call took from it on average."""
        found = crawl.lanes.get(row["lane"])
        slowest = max((_pace(charge, each[charge.bucket]) for charge in charges), default=timedelta(0))
        return Use(
            service=found.service.name if found else "",
            facet=found.facet.name if found else "stream",
            credential=row["credential"],
            calls=row["calls"] / self._model.factor,
            hours=row["calls"] * slowest / timedelta(hours=1),
        )


def _dollars(crawl: Crawl, now: datetime) -> float:
    """What the crawl has booked as spent, which is what X charges."""
    return sum(purse.spent for purse in budget_statuses(crawl.ledgers.buckets().values(), now) if purse.is_crawl)


def _left_out(posts: Sequence[str], stored: Set[str]) -> int:
    """How many of an account's posts, the newest first, are missing after the first that is stored."""
    places = [place for place, post in enumerate(posts) if post in stored]
    return len(posts) - places[0] - len(places) if places else 0


def _width(figure: Figure) -> float:
    """How many times as wide as it should be the interval of an estimate is."""
    if figure.low is None or figure.high is None or not figure.wanted:
        return inf
    return (figure.high - figure.low) / 2 / figure.wanted


def _charges(crawl: Crawl, lane: int, credential: str | None) -> tuple[Charge, ...]:
    """What its calls may take: limits on requests with a position do not concern a lane that never sends one."""
    found, charges = crawl.lanes.get(lane), crawl.charges.get(lane, {}).get(credential, ())
    has_positions = found is not None and found.is_paged("0", _UNDER_WAY)
    return tuple(charge for charge in charges if has_positions or not charge.limit.only_paged)


def _pace(charge: Charge, amount: float) -> timedelta:
    """The time a limit needs for one call that takes so much from it; what a month allows is not spread over it."""
    if not charge.limit.kind.is_spread:
        return timedelta(0)
    return charge.limit.window * (amount / charge.limit.allowance)


def _bucket(course: Course, row: Row) -> Bucket:
    """How much of what a bucket allowed was used until the crawl had ended or caught up."""
    busy = min(course.length, course.done_after)
    whole, part = divmod(busy / timedelta(microseconds=row["window_micros"]), 1)
    # Within a window the ledger spreads all calls but the first ones.
    begun = BURST + (1 - BURST) * part if WindowKind(row["kind"]).is_spread else 1.0
    name = MONEY if is_budget(row["bucket"]) else row["bucket"]
    return Bucket(name=name, used=min(1.0, course.spent(row["bucket"], busy) / (row["allowance"] * (whole + begun))))
