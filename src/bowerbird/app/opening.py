"""Opens a crawl: writes the rows that say who is here, then puts the parts of the process together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct, structs

from bowerbird.analysis.language.judge import language_judges
from bowerbird.app.copies import copy_beside
from bowerbird.app.crawls import NO_EXTENSIONS, NOT_ASKED, Crawl, Gathered, Given, Outside
from bowerbird.app.events import Keeping, event_parts, opened_event
from bowerbird.app.modules.questions import LaneQuestions
from bowerbird.app.modules.runners import judge_named, knows_place, module_runners
from bowerbird.app.modules.stored import StoredThings
from bowerbird.app.offered import known_vault
from bowerbird.app.opt_outs import keep_out
from bowerbird.app.seeds import seeds_of
from bowerbird.app.services import add_service, unknown_servers
from bowerbird.crawl.access.credentials import check_named
from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.access.signing import Caller, Signer
from bowerbird.crawl.access.surveys import Survey, Surveyor
from bowerbird.crawl.life import controls, not_asked, registry
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.life.good_enough import sample_part
from bowerbird.crawl.life.life import Life
from bowerbird.crawl.life.plan_versions import agree
from bowerbird.crawl.life.rebuilding import Rebuilder
from bowerbird.crawl.process.claims import WorkerClaims
from bowerbird.crawl.process.enrolment import Enrolment, enrol, go_on
from bowerbird.crawl.process.pacing import Pacing
from bowerbird.crawl.process.process import Process
from bowerbird.crawl.process.remarks import Remarks
from bowerbird.crawl.process.running import check_upgrade
from bowerbird.crawl.process.stop_rules import Brakes, StopRules
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.work.bookkeeping import LEASE_TIME, Bookkeeping, QueryLog
from bowerbird.crawl.work.lanes import Lanes, add_turns
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.server_watch import ServerWatch
from bowerbird.crawl.work.settling import Settler
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.crawl.work.spread import spread_of
from bowerbird.crawl.work.targets import Targets
from bowerbird.event.opened import OpenedEvent
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.booked_ledgers import BookedLedgers
from bowerbird.limits.filling import login_charges, renewal_charges
from bowerbird.limits.purses import Means, money_in
from bowerbird.model.subjects.places import Area
from bowerbird.modules.parts import Around, module_parts
from bowerbird.modules.running.context import Surroundings
from bowerbird.ports import Database, Judge, Part, Transaction
from bowerbird.ports import Store as StorePort
from bowerbird.reports.counting.hours import posts_by_hour
from bowerbird.reports.studies.sample import enough
from bowerbird.settings import load_settings
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore
from bowerbird.store.opening import open_store
from bowerbird.store.posts.listed import is_source
from bowerbird.store.posts.recall import Recall

CALL_TIME = timedelta(seconds=90)
"""What must be left of a lease to start a call with it; longer than any request may take."""


@asynccontextmanager
async def open_crawl(
    plan: CrawlPlan, outside: Outside, extensions: Extensions = NO_EXTENSIONS, asked: Mapping[str, Survey] = NOT_ASKED
) -> AsyncIterator[Crawl]:
    """Everything a crawl needs, wired; its rows exist in the database when this returns. `asked`: by service what it said of
    itself just now."""
    async with open_store(plan.store, outside.clock, is_passing=outside.is_passing, check=check_upgrade) as database:
        await keep_out(plan, database, outside.clock)
        opening = _Opening(plan, outside, database, extensions, BookedLedgers(pace=outside.is_paced))
        yield opening.composed(await opening.enrolled(asked))


class _Enrolled(Struct, frozen=True, kw_only=True):
    """A crawl whose rows are written."""

    me: Enrolment
    log: QueryLog
    tally: Tally
    gathered: Gathered
    admission: Admission
    crawl: int
    event: OpenedEvent | None = None


class _Opening(Struct, frozen=True):
    """What a crawl is opened with."""

    plan: CrawlPlan
    outside: Outside
    database: Database
    extensions: Extensions
    ledgers: BookedLedgers

    async def enrolled(self, asked: Mapping[str, Survey]) -> _Enrolled:
        """Asks servers of many kinds what they are, then writes down in one transaction who takes part."""
        plan, outside, database = self.plan, self.outside, self.database
        vault = known_vault(outside)
        check_named(plan.flow.facets, plan.services, vault)
        surveyor = Surveyor(database, self.ledgers, outside.transport, outside.clock)
        flavours = {each.service.name: await surveyor.learn(each, asked) for each in unknown_servers(plan, outside.clock)}
        now = outside.clock.now()
        async with database.transaction() as tx:
            row = await self._row(tx, now)
            me = await enrol(tx, plan.name, now, is_alone=outside.is_alone, label=outside.label)
            await controls.begin(tx, row.crawl, me.label)
            await agree(tx, plan, row.crawl, me, now, applies=outside.applies)
            if not outside.is_continued:
                await go_on(tx, row, me, now)
            log, tally = QueryLog(row.crawl, me.number), Tally(now, row.size)
            tally.asked(await surveyor.log(tx, log, row.crawl))
            event = opened_event(plan, row.crawl, database)
            given = Given(
                plan=plan,
                event=event,
                vault=vault,
                own=outside.vault,
                crawl=row.crawl,
                me=me,
                extensions=self.extensions,
                flavours=flavours,
                now=outside.clock.now,
                database=database,
            )
            if event is not None:
                await event.begin(tx, [seed.text for seed in plan.seeds.located()], now)
            gathered, admission = await self._gathered(tx, given)
        return _Enrolled(me=me, log=log, tally=tally, gathered=gathered, admission=admission, crawl=row.crawl, event=event)

    async def _row(self, tx: Transaction, now: datetime) -> registry.CrawlRow:
        plan = self.plan
        if plan.is_joined:
            return await registry.join_crawl(tx, plan.name, now)
        return await registry.enrol_crawl(tx, plan.name, msgspec.json.encode(plan.flow).decode(), plan.told(), now)

    async def _gathered(self, tx: Transaction, given: Given) -> tuple[Gathered, Admission]:
        """Lanes, streams and limits of all services, and who may still come in."""
        gathered, now = Gathered(), given.now()
        for service in given.plan.services:
            await add_service(tx, given, gathered, service)
        await not_asked.mark(tx, given.crawl, given.me, gathered.waiting, now)
        charges = [each for options in gathered.charges.values() for taken in options.values() for each in taken]
        await self.ledgers.open(tx, money_in((*charges, *(each for stream in gathered.streams for each in stream.charges))), now)
        everyone = gathered.lanes | gathered.waiting
        admission = Admission(self.database, given.crawl, everyone, given.plan.flow.filters.max_users)
        await admission.open(tx)
        # A new start is a new chance: the user may have mended what the service refused.
        asking = ((gathered.lanes[lane].service.name, options) for lane, options in gathered.charges.items())
        await registry.accept_credentials(tx, (*asking, *((each.service.name, each.keys.names) for each in gathered.streams)))
        return gathered, admission

    def composed(self, who: _Enrolled) -> Crawl:
        """The work source, the worker, the parts, and the process around them."""
        plan, clock, gathered, me, tally = self.plan, self.outside.clock, who.gathered, who.me, who.tally
        lanes, scheduler = Lanes(gathered.lanes, gathered.waiting), self._scheduler(gathered)
        books = self._books(who)
        signer, store = self._signer(), self._store(gathered, who.crawl)
        targets = Targets(books.frontier, lanes, scheduler, who.admission, store)
        watch = ServerWatch(lanes, scheduler, books.frontier, signer.names)
        source = LocalWorkSource(books, lanes, scheduler, watch, Settler(books, store, targets, watch))
        worker = Worker(source, self._caller(signer, lanes, me), clock, tally, self.outside.glance)
        hearing = Hearing(books, store, targets, signer, tally)
        streamers = [Streamer(hearing, stream) for stream in gathered.streams]
        parts = [
            *(each.part() for each in streamers),
            *event_parts(who.event, gathered, streamers, targets, Keeping(books, WorkerClaims(me.number), tally)),
            *gathered.mute,
            *module_parts(_at_home(plan), self._around(me), self.outside.media, self._copies()),
            *module_runners(plan.flow, self._surroundings(who, lanes, targets), lambda: tally.calls),
            Rebuilder(books, targets, Recall(self.database), tally).part(gathered.queues),
            *self._community(who, targets),
            *self._sample(tally, worker),
        ]
        exhausted = Means(self.ledgers, plan.name, [each.needs for each in gathered.streams], clock).exhausted
        spread = spread_of(plan.flow.stop, gathered.lanes.values(), gathered.charges)
        brakes = Brakes(exhausted)
        if spread is not None:
            pacing = Pacing(spread, lanes, scheduler, tally, clock)
            parts.append(pacing.part(partial(posts_by_hour, self.database)))
            brakes = Brakes(exhausted, pacing.held_until)
        rules = StopRules(plan.flow.stop, tally, clock, parts, brakes)
        prevented = str if gathered.streams else watch.prevented
        return Crawl(
            plan=plan,
            database=self.database,
            process=Process(Life(books, me, lanes, targets), worker, rules, Remarks(self.database, clock), prevented),
            ledgers=self.ledgers,
            tally=tally,
            lanes=gathered.lanes,
            charges=gathered.charges,
            seeds=seeds_of(plan, gathered, self.database, clock),
            notes=gathered.notes,
            number=who.crawl,
            log=who.log,
            scheduler=scheduler,
            source=source,
            me=me,
            rules=rules,
        )

    def _around(self, me: Enrolment) -> Around:
        return Around(self.database, self.outside.clock, WorkerClaims(me.number))

    def _copies(self) -> Callable[[], Awaitable[None]] | None:
        """Copies the media with each backup, where the crawl file wishes it."""
        backup, media = self.plan.backup, self.plan.media
        if backup is None or not backup.media or media is None:
            return None
        return partial(copy_beside, self.database, self.outside.clock, media.folder, backup)

    def _surroundings(self, who: _Enrolled, lanes: Lanes, targets: Targets) -> Surroundings:
        """What the modules of the crawl work with."""
        return Surroundings(
            crawl=who.crawl,
            crawl_name=self.plan.name,
            database=self.database,
            clock=self.outside.clock,
            claims=WorkerClaims(who.me.number),
            worker=who.me.number,
            questions=LaneQuestions(self.database, lanes, targets, self.outside.clock),
            stored=StoredThings(self.database),
            judge=partial(judge_named, self._judges),
            knows_place=partial(knows_place, self.plan.community),
            messenger=self.outside.messenger,
        )

    def _scheduler(self, gathered: Gathered) -> Scheduler:
        scheduler = Scheduler(self.ledgers)
        for number, lane in gathered.lanes.items():
            add_turns(scheduler, lane, gathered.charges[number])
        return scheduler

    def _books(self, who: _Enrolled) -> Bookkeeping:
        in_memory = self.plan.in_memory
        return Bookkeeping(
            crawl=who.crawl,
            database=self.database,
            clock=self.outside.clock,
            frontier=TaskFrontier(self.database, who.me.number, lease=LEASE_TIME, call=CALL_TIME, in_memory=in_memory),
            ledgers=self.ledgers,
            log=who.log,
        )

    def _signer(self) -> Signer:
        outside, vault = self.outside, self.outside.vault
        logins, renewals = partial(login_charges, vault), partial(renewal_charges, vault)
        book = BookedLogins(self.database, self.ledgers, outside.clock, logins, renewals)
        return Signer(vault, outside.transport, outside.clock, book)

    def _caller(self, signer: Signer, lanes: Lanes, me: Enrolment) -> Caller:
        facets = frozenset(lane.facet.name for lane in lanes.asked.values() if self.outside.makes_calls)
        return Caller(signer, {lane.service.name: lane.provider for lane in lanes.asked.values()}, facets, me.number)

    def _community(self, who: _Enrolled, targets: Targets) -> Sequence[Part]:
        """Who looks around among judged accounts, in a crawl of a community."""
        community = self.plan.community
        if community is None or not community.uses_relations or community.rule != "weighed":
            return ()
        from bowerbird.app import communities

        keeping = communities.Keeping(self.database, self.outside.clock, WorkerClaims(who.me.number), who.tally)
        return (communities.attendant(who.crawl, community, who.gathered.lanes, targets, keeping),)

    def _sample(self, tally: Tally, worker: Worker) -> Sequence[Part]:
        if self.plan.flow.stop.half_width is None:
            return ()
        return (sample_part(partial(enough, self.database, self.plan.name), tally, self.outside.clock, worker.end),)

    def _store(self, gathered: Gathered, crawl: int) -> StorePort:
        flow, lanes = self.plan.flow, gathered.lanes.values()
        asked = {use.name for use in flow.facets}
        is_searching = any(is_source(lane.facet) for lane in lanes if lane.facet.name in asked)
        # Several streams are compared with each other as a search is with a stream.
        is_comparing = is_searching or len(gathered.streams) > 1
        heeds = flow.heeds_counters({lane.facet.name for lane in lanes if lane.facet.is_lookup})
        store = Store(
            self.database,
            keeps_sightings=is_comparing,
            heeds_counters=heeds,
            counters_every=self.plan.counters_every,
            consent=self.plan.consent,
        )
        judges = self._judges()
        return self.extensions.store(JudgingStore(store, self.database, judges) if judges else store, self.database, crawl)

    def _judges(self) -> Sequence[Judge]:
        """Who says what things are: where, in a crawl that is about places; in which language, in one whose conditions ask; and
        whatever the program that runs it adds."""
        areas = [place.area for place in self.plan.places]
        places: list[Judge] = [*_place_judges(areas)] if areas else []
        if self.plan.community is not None:
            from bowerbird.app import communities

            places = [*places, communities.judge(self.plan.community)]
        added = self.extensions.judges
        asked = self.plan.flow.judges - {judge.name for judge in added}
        return (*places, *language_judges(asked), *added)


def _place_judges(areas: Sequence[Area]) -> Sequence[Judge]:
    # Loaded for crawls that are about places: it takes a while.
    from bowerbird.analysis.places.judge import place_judge

    return [place_judge(areas, load_settings().cache_folder)]


def _at_home(plan: CrawlPlan) -> CrawlPlan:
    """The plan without what needs folders of the machine that has the crawl file."""
    return structs.replace(plan, media=None, backup=None) if plan.is_joined else plan
