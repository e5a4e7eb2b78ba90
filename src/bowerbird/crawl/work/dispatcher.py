"""Hands out leases and settles them: steps 1, 2 and 4 to 6 of the way of one call (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile

from msgspec import Struct, structs

from bowerbird.crawl.access.signing import Sessions
from bowerbird.crawl.answers import endless_lists
from bowerbird.crawl.answers.short_lists import note_left_alone, note_shortfall
from bowerbird.crawl.answers.unreadable import answers_to
from bowerbird.crawl.answers.verdict import Verdict, judge, part_to_ask, set_back, settled
from bowerbird.crawl.answers.visits import seeds_left_alone, visits_of
from bowerbird.crawl.life import registry
from bowerbird.crawl.seeding.admission import Admission
from bowerbird.crawl.work.blocked import Barring
from bowerbird.crawl.work.call_log import QueryLog, Timings
from bowerbird.crawl.work.lanes import Lane, LaneLease
from bowerbird.crawl.work.outages import Outages
from bowerbird.crawl.work.scheduler import Choice, Scheduler
from bowerbird.crawl.work.unsupported import Offers
from bowerbird.errors import Fenced, Taken
from bowerbird.model import (
    Answer,
    Arrival,
    Ask,
    Lease,
    Outcome,
    Page,
    Saved,
    Setback,
    Settled,
    Standing,
    Task,
    Turn,
    Visit,
)
from bowerbird.ports import Clock, Database, Frontier, Ledgers, Links, Store, Transaction

_SWEEP_EVERY = timedelta(milliseconds=100)
"""While calls follow each other closely, not every one of them looks for tasks that have come due."""


class Parts(Struct, frozen=True, kw_only=True):
    """What a dispatcher works with; the composition root fills it."""

    database: Database
    clock: Clock
    frontier: Frontier
    ledgers: Ledgers
    store: Store
    log: QueryLog
    scheduler: Scheduler
    lanes: dict[int, Lane]
    """Changed while the crawl runs, where a server takes no batches after all."""
    aside: Mapping[int, Lane] = {}
    """Lanes that are not asked in this run: what is led to them waits there."""
    sessions: Sessions
    lease_time: timedelta


class Report(Struct, frozen=True, kw_only=True):
    """What one settled call brought, for those who watch."""

    facet: str
    service: str = ""
    outcome: Outcome
    results: int
    new_items: int
    new_users: int = 0
    new_posts: int = 0
    detail: str = ""
    given_up: int = 0
    left_alone: tuple[str, ...] = ()
    """Seeds that turned out to have asked not to be collected."""
    not_offered: str = ""
    """What the server does not offer, as a sentence, when the call has found that out."""


class Dispatcher:
    """Leases calls and settles answers for one crawl; all state is in the database."""

    def __init__(self, parts: Parts, crawl: int, admission: Admission | None = None) -> None:
        """`admission`: who may still be asked about, in a crawl whose size is limited."""
        self._parts = parts
        self._crawl = crawl
        self._admission = admission
        self._swept_at: datetime | None = None
        self._outages = Outages()
        self.offers = Offers(parts.lanes, parts.frontier)
        self._barring = Barring(parts.lanes, parts.aside, parts.scheduler, parts.sessions.taken)

    # -- lease ---------------------------------------------------------------------------------------------------

    async def lease(self, room: int = 1) -> Sequence[LaneLease] | datetime | None:
        """The next calls to make, at most `room`, or when to ask again, or None when nothing waits at all."""
        parts = self._parts
        now = parts.clock.now()
        choice = parts.scheduler.next(now)
        if not isinstance(choice, Choice):
            return choice
        # No task to lease after all, or another worker took the calls: let others run, then ask again.
        with suppress(Taken):
            if leases := await self._lease_choice(choice, room, now):
                return leases
        return now

    def stuck(self) -> str:
        """Why what waits cannot be asked: no credential is left to ask with. Empty: it can be, or nothing waits."""
        if not self._parts.scheduler.is_stuck():
            return ""
        return self._barring.stuck()

    def barred(self) -> str:
        """Why this run could not do what its flow is there for, as a sentence; empty: it could."""
        return self._barring.barred(self.offers.closed)

    async def wake(self) -> datetime | None:
        """Makes ready what has come due; says when to look again: now, if something is ready, or when the next is due."""
        parts = self._parts
        async with parts.database.transaction() as tx:
            now = parts.clock.now()
            if parts.scheduler.is_stuck():
                # What is held for calls that nobody may make would be waited for until its lease runs out.
                await parts.frontier.release(tx, now)
            woken = await self._sweep(tx, now)
            asked = parts.lanes.keys() - self.offers.closed.keys()
            return now if woken & asked else await parts.frontier.next_due(tx, list(asked))

    async def _sweep(self, tx: Transaction, now: datetime) -> frozenset[int]:
        woken = await self._parts.frontier.sweep(tx, now)
        tx.after_commit(partial(self._has_swept, now))
        self._parts.scheduler.wake(woken)
        return woken

    def _has_swept(self, now: datetime) -> None:
        self._swept_at = now

    async def _lease_choice(self, choice: Choice, room: int, now: datetime) -> list[LaneLease]:
        """Leases calls of one choice in one transaction, as long as the scheduler would choose it again."""
        parts = self._parts
        leases: list[LaneLease] = []
        async with parts.database.transaction() as tx:
            buckets = [charge.bucket for charge in choice.charges]
            tx.on_rollback(partial(parts.scheduler.touched, buckets))
            if self._swept_at is None or now - self._swept_at >= _SWEEP_EVERY:
                await self._sweep(tx, now)
            while lease := await self._lease_one(tx, choice, now):
                leases.append(lease)
                if len(leases) >= room or not parts.scheduler.again(choice, now):
                    break
        parts.scheduler.touched(buckets)
        return leases

    async def _lease_one(self, tx: Transaction, choice: Choice, now: datetime) -> LaneLease | None:
        parts = self._parts
        lane = parts.lanes[choice.turn.lane]
        watch = parts.clock.stopwatch()
        tasks = await parts.frontier.lease(tx, choice.turn, lane.draws(choice.turn.is_paged, now), now)
        rank_time = timedelta(seconds=parts.clock.stopwatch() - watch)
        if not tasks:
            parts.scheduler.idle(choice.turn, None)
            # What an earlier call of the same transaction took from it is there again.
            tx.on_rollback(partial(parts.scheduler.wake_turns, [choice.turn]))
            return None
        lease = structs.replace(await self._ask(tx, lane, choice, tasks, now), rank_time=rank_time)
        return structs.replace(lease, call=await parts.log.begin(tx, lane.lane, lease))

    async def _ask(self, tx: Transaction, lane: Lane, choice: Choice, tasks: Sequence[Task], now: datetime) -> LaneLease:
        """Charges the call, in the transaction that leases its tasks."""
        parts = self._parts
        asked, later = part_to_ask(tasks, lane.facet.objects_per_call)
        if later:
            await parts.frontier.give_back(tx, later, now)
        targets, looks = tuple(task.target for task in asked), min(task.pages for task in asked)
        ask = Ask(lane.facet.name, targets, asked[0].progress, lane.hints, looks)
        charges = tuple(await parts.ledgers.charge(tx, choice.charges, now))
        return LaneLease(
            lane=lane,
            call=0,
            service=lane.service.name,
            ask=ask,
            tasks=tuple(asked),
            credential=choice.credential,
            charges=charges,
            leased_at=now,
            expires_at=now + parts.lease_time,
        )

    # -- settle --------------------------------------------------------------------------------------------------

    async def settle(self, lease: LaneLease, answer: Answer) -> Report:
        """Ends a call in one transaction; raises `Fenced` when the lease is no longer ours."""
        lane = lease.lane
        page = self._parts.store.clean(lane.provider.parse(lease.ask, answer, lane.service))
        # The settle may be tried again: what it changes in memory comes after its commit, or is taken back with it.
        async with self._parts.database.transaction() as tx:
            page = await self.offers.weighed(tx, lane, lease, page)
            has_expired = self._has_expired(lane, lease, page)
            is_refused = not has_expired and self._barring.is_out(tx, lane, lease, page)
            report, seeded, woken = await self._settle(tx, lane, lease, answer, page, is_refused)
            learned = await self.offers.note(tx, lane, page, self._parts.clock.now())
            losing = await self._barring.note(tx, lane, lease, page, self._parts.clock.now()) if is_refused else frozenset()
        self._parts.scheduler.touched([charge.bucket for charge in lease.charges])
        self._parts.scheduler.wake(seeded)
        self._parts.scheduler.wake_turns(woken)
        if has_expired and lease.credential is not None:
            self._parts.sessions.renew(lease.credential)
        self._parts.scheduler.refuse(losing, lease.credential)
        not_offered = self.offers.settled(lane, lease, page, learned)
        if not_offered:
            self._parts.scheduler.close(lane.lane)
        return structs.replace(report, not_offered=not_offered)

    def _has_expired(self, lane: Lane, lease: Lease, page: Page) -> bool:
        """Whether the token has only run out: the next call then opens a new session."""
        if page.outcome is not Outcome.BAD_TOKEN or lease.credential is None:
            return False
        return self._parts.sessions.has_expired(lease.credential, lane.provider)

    async def _settle(
        self, tx: Transaction, lane: Lane, lease: Lease, answer: Answer, page: Page, is_refused: bool
    ) -> tuple[Report, frozenset[int], frozenset[Turn]]:
        parts = self._parts
        now = parts.clock.now()
        watch = parts.clock.stopwatch()
        page = await endless_lists.bounded(tx, lane, lease, page)
        saved = await parts.store.save(
            tx, page, service=lane.service, tasks=lease.tasks, facet=lane.facet, call=lease.call, now=now
        )
        await endless_lists.remember(tx, lease, page, saved)
        saved_at = parts.clock.stopwatch()
        await self._take_turn(tx)
        seeded = await self._seed(tx, lane, lease, page, saved, now)
        seeded_at = parts.clock.stopwatch()
        goes_on = self.offers.goes_on(lane, page)
        ended = self._end_tasks(lane, page, await self._visits(tx, lane, lease.tasks, page, saved, now), goes_on=goes_on)
        ready = await parts.frontier.settle(tx, ended, now)
        # After the settle: a walk may lead back to the very task that it leaves.
        seeded |= await self._add(tx, [lead for each in ended for lead in each.standing.leads], lease.call, now)
        seeded |= await self._add(tx, self.offers.witness(lane, lease, page), lease.call, now)
        await parts.ledgers.settle(tx, lease.charges, page, answer)
        await self._note_trouble(tx, lane, lease, page, is_refused, now)
        await self._outages.note(tx, lane.service.name, page, now)
        await note_shortfall(tx, lane, lease, page, ended, now)
        report = _report(lane, page, saved, ended, seeds_left_alone(lane, lease.tasks, page))
        await registry.count_left_alone(tx, self._crawl, len(report.left_alone))
        await note_left_alone(tx, lane, lease.call, report.left_alone, now)
        timings = Timings(seed=seeded_at - saved_at, settle=parts.clock.stopwatch() - watch)
        if not await parts.log.end(tx, lease, answer, page, saved, timings, now):
            raise Fenced(f"call {lease.call} was declared lost before its answer came; the answer is dropped")
        # Last of all: every worker changes this row, and waits for it.
        await registry.count(tx, self._crawl, report.new_items, report.new_users, report.new_posts)
        return report, seeded, frozenset(Turn(each.task.lane, each.is_paged) for each in ended if each.task.lane in ready)

    async def _seed(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, saved: Saved, now: datetime) -> frozenset[int]:
        arrivals = lane.seeder.seed(lane.facet.name, lease.tasks, page, saved)
        return await self._add(tx, arrivals, lease.call, now)

    async def _take_turn(self, tx: Transaction) -> None:
        """Where rankers remember, what they read and then write stays theirs; others do not wait for each other."""
        if any(lane.ranker.remembers for lane in (*self._parts.lanes.values(), *self._parts.aside.values())):
            await self._parts.frontier.take_turn(tx)

    async def add(self, tx: Transaction, arrivals: Sequence[Arrival], call: int | None, now: datetime) -> frozenset[int]:
        """Puts targets into the frontier where their lanes' rankers want them, and those that the rankers name thereupon."""
        await self._take_turn(tx)
        return await self._add(tx, arrivals, call, now)

    async def _add(self, tx: Transaction, arrivals: Sequence[Arrival], call: int | None, now: datetime) -> frozenset[int]:
        lanes: set[int] = set()
        if self._admission is not None:
            arrivals = await self._admission.admitted(tx, arrivals)
        while arrivals:
            # One at a time where they lead on: two walkers may come to the same place.
            now_added = list(takewhile(lambda arrival: arrival.memory is None, arrivals)) or arrivals[:1]
            standings = await self._standings(tx, now_added, now)
            lanes |= await self._parts.frontier.add(tx, standings, call, now)
            arrivals = [*arrivals[len(now_added) :], *(lead for _, standing in standings for lead in standing.leads)]
        return frozenset(lanes)

    async def _standings(self, tx: Transaction, arrivals: Sequence[Arrival], now: datetime) -> list[tuple[Arrival, Standing]]:
        remembering = [arrival for arrival in arrivals if self._lane(arrival).ranker.remembers]
        known = await self._parts.frontier.known(tx, remembering) if remembering else {}
        return [
            (arrival, self._lane(arrival).ranker.added(arrival, known.get((arrival.lane, arrival.target)), now))
            for arrival in arrivals
        ]

    def _lane(self, arrival: Arrival) -> Lane:
        """Where a target goes, be it to wait."""
        return self._parts.lanes.get(arrival.lane) or self._parts.aside[arrival.lane]

    async def _as_they_are(self, tx: Transaction, lane: Lane, tasks: Sequence[Task]) -> Sequence[Task]:
        """The leased tasks with what their ranker wrote into them while the call was out."""
        if not lane.ranker.remembers:
            return tasks
        known = await self._parts.frontier.known(tx, [Arrival(lane=task.lane, target=task.target) for task in tasks])
        return [structs.replace(task, memory=known[task.lane, task.target].memory) for task in tasks]

    async def _visits(
        self, tx: Transaction, lane: Lane, tasks: Sequence[Task], page: Page, saved: Saved, now: datetime
    ) -> list[Visit]:
        """What the call learned about each of its tasks, as their ranker is to see it."""
        tasks = lane.ranked(await self._as_they_are(tx, lane, tasks))
        visits = visits_of(tasks, page, saved, now, follows_opted_out=lane.follows_opted_out)
        found = [visits[task.task] for task in tasks]
        return found if lane.links is None else [await self._looked_around(tx, lane.links, visit) for visit in found]

    async def _looked_around(self, tx: Transaction, links: Links, visit: Visit) -> Visit:
        """The visit with what the lane remembers of the neighbours, for a walk that sees one side of each relation only."""
        lane, target = visit.task.lane, visit.task.target
        linked_by = tuple(await links.to(tx, lane, target)) if visit.is_finished else ()
        ends = {end for each in visit.relations for end in (each.source, each.target)} | set(linked_by)
        known = await self._parts.frontier.known(tx, [Arrival(lane=lane, target=end) for end in ends - {target}])
        around = {task.target: task.memory for task in known.values() if task.memory is not None}
        return structs.replace(visit, linked_by=linked_by, around=around)

    def _end_tasks(self, lane: Lane, page: Page, visits: Sequence[Visit], *, goes_on: bool) -> list[Settled]:
        """`goes_on`: what the server does not offer is asked in another way."""
        ended = []
        answers = answers_to([visit.task for visit in visits], page, lane.facet)
        for visit, answer in zip(visits, answers, strict=True):
            verdict = Verdict.UNASKED if goes_on else judge(visit.task, answer, len(visits), lane.max_pages)
            visit = structs.replace(visit, is_finished=verdict is Verdict.VISITED)
            end = lane.placed(settled(visit, answer, verdict, lane.ranker))
            ended.append(structs.replace(end, is_paged=lane.is_paged(visit.task.target, end.progress)))
        return ended

    async def _note_trouble(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, is_refused: bool, now: datetime) -> None:
        if page.outcome is Outcome.OK or page.outcome.is_about_target:
            return
        await registry.note_error(
            tx, self._crawl, f"{lane.service.name}/{lane.facet.name}", str(page.outcome), lease.call, page.detail, now
        )
        if is_refused and page.outcome is Outcome.BAD_TOKEN and lease.credential is not None:
            await registry.refuse_credential(tx, lane.service.name, lease.credential, page.detail, now)

    async def give_back(self, lease: Lease, until: datetime) -> None:
        """Returns a call that could not be made: its credential may log in again at that time, others may ask before."""
        parts = self._parts
        now = parts.clock.now()
        why = f"not asked: too many logins with {lease.credential}, the next one may be tried at {until:%Y-%m-%d %H:%M:%S} UTC"
        async with parts.database.transaction() as tx:
            if await parts.log.lose(tx, lease.call, "unasked", why, now):
                await parts.ledgers.lost(tx, lease.charges, now)
                await parts.frontier.give_back(tx, lease.tasks, now)
                await registry.note_error(tx, self._crawl, "login", str(Outcome.RATE_LIMITED), lease.call, why, now)
        parts.scheduler.touched([charge.bucket for charge in lease.charges])
        parts.scheduler.wake([lease.tasks[0].lane])
        parts.scheduler.hold(lease.credential, until)

    async def fail(self, lease: Lease, why: str) -> int:
        """Ends a call that broke our own code: it is spent, and its tasks are tried again later; answers how many are given up.

        It asks nothing of the parts that may just have broken: no provider, ranker, seeder or store.
        """
        now = self._parts.clock.now()
        setbacks = [set_back(task, why, now) for task in lease.tasks]
        if not await self._spend(lease, "fault", why, setbacks):
            return 0
        self._parts.scheduler.touched([charge.bucket for charge in lease.charges])
        return sum(each.failure is not None for each in setbacks)

    async def drop(self, lease: Lease, outcome: str, why: str) -> None:
        """Books a call whose answer may not be written any more: it is spent, and the log says why."""
        await self._spend(lease, outcome, why, ())

    async def _spend(self, lease: Lease, outcome: str, why: str, setbacks: Sequence[Setback]) -> bool:
        """Ends a call without an answer; False when somebody has ended it before."""
        parts = self._parts
        now = parts.clock.now()
        async with parts.database.transaction() as tx:
            if not await parts.log.lose(tx, lease.call, outcome, why, now):
                return False
            await parts.ledgers.lost(tx, lease.charges, now)
            await parts.frontier.set_back(tx, setbacks)
            if setbacks:
                await registry.note_error(tx, self._crawl, f"{lease.service}/{lease.ask.facet}", outcome, lease.call, why, now)
            return True


def _report(lane: Lane, page: Page, saved: Saved, ended: Sequence[Settled], left_alone: tuple[str, ...]) -> Report:
    return Report(
        facet=lane.facet.name,
        service=lane.service.name,
        outcome=page.outcome,
        results=page.results,
        new_items=saved.items_new,
        new_users=saved.users_new,
        new_posts=saved.posts_new,
        detail=page.detail,
        given_up=sum(item.failure is not None for item in ended),
        left_alone=left_alone,
    )
