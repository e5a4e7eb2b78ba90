"""The work source of this process: leases calls out of our own database and settles their answers there.

Steps 1 and 2 of the way of one call (docs/architecture.md) are here, steps 4 to 6 in `settling.py`; step 3 is the worker's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from msgspec import Struct, field

from bowerbird.crawl.answers.verdict import part_to_ask, set_back
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.supervisor import fault_words
from bowerbird.crawl.work.bookkeeping import LEASE_TIME, Bookkeeping
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Choice, May, Scheduler
from bowerbird.crawl.work.servers.server_watch import ServerWatch
from bowerbird.crawl.work.settling import Settler
from bowerbird.errors import Busy, Fenced, Taken
from bowerbird.model import (
    Answer,
    Ask,
    CallReport,
    Due,
    Later,
    Lease,
    Leased,
    Loss,
    Nothing,
    Offer,
    Outcome,
    Request,
    Task,
)
from bowerbird.ports import Transaction

_SWEEP_EVERY = timedelta(milliseconds=100)
"""While calls follow each other closely, not every one of them looks for tasks that have come due."""
_OTHERS_WORK = timedelta(seconds=1)
"""When to ask again where all that is ready is for workers with other credentials."""
_MOST_OUT = 10_000

_MOST_TOGETHER = 32
"""Workers that are served in one transaction."""
_GONE = "whoever asked for it is gone"

NO_REQUEST = Request(path="")


class _Asking(Struct, eq=False):
    """A worker that waits for its calls."""

    offer: Offer
    leases: list[Lease] = field(default_factory=list)
    """What it was given meanwhile, with the calls of another."""
    is_gone: bool = False
    """It waits no longer, and what it is given from now on nobody would take."""


class LocalWorkSource:
    """Hands out the calls of one crawl; all state is in the database. Implements `ports.WorkSource`."""

    def __init__(
        self, books: Bookkeeping, lanes: ServedLanes, scheduler: Scheduler, watch: ServerWatch, settler: Settler
    ) -> None:
        self._books = books
        self._lanes = lanes
        self._scheduler = scheduler
        self._watch = watch
        self._settler = settler
        self._leasing = asyncio.Lock()
        self._asking: list[_Asking] = []
        self._swept_at: datetime | None = None
        self._forgotten: int | None = None
        """Which requests to forget were known when tasks were last chosen."""
        self._out: dict[int, tuple[datetime, Lane]] = {}
        """By call: until when it is leased, and its lane as it was then. An answer is read as what was asked."""
        self._unconfirmed: list[Lease] = []
        """Leases of a transaction that the database may have committed without confirming it."""
        self._served: dict[tuple[frozenset[str], frozenset[str]], May | None] = {}
        """Which calls may be made with these credentials and for these facets; None: all there are."""

    async def lease(self, offer: Offer) -> Leased | Later | Nothing:
        # One at a time, whoever asks: what is chosen is there until it is leased.
        async with self._leasing:
            return await self._lease(_Asking(offer), is_alone=True)

    async def lease_together(self, offer: Offer) -> Leased | Later | Nothing:
        """The same for one of many workers: those who wait meanwhile are served by the next of them, in one transaction."""
        asking = _Asking(offer)
        self._asking.append(asking)
        try:
            async with self._leasing:
                return Leased(tuple(asking.leases)) if asking.leases else await self._lease(asking)
        except asyncio.CancelledError:
            for lease in asking.leases:
                await self.hand_on(lease, _GONE)
            raise
        finally:
            asking.is_gone = True
            self._asking.remove(asking)

    async def _lease(self, asking: _Asking, *, is_alone: bool = False) -> Leased | Later | Nothing:
        await self._expire_unconfirmed()
        now, may = self._books.clock.now(), self._may(asking.offer)
        choice = self._scheduler.next(now, may)
        if isinstance(choice, Choice):
            served = [asking] if is_alone else self._alike(asking, may)
            # No task to lease after all, or another worker took the calls: let others run, then ask again.
            with suppress(Taken):
                try:
                    await self._lease_choice(choice, served, now)
                except Fenced:
                    # Unless it is this one who is taken for dead, it gets its calls without those who wait.
                    if len(served) == 1:
                        raise
                    return await self._lease(asking, is_alone=True)
                for lease in [each for one in served if one.is_gone for each in one.leases]:
                    await self.hand_on(lease, _GONE)
                if asking.leases:
                    return Leased(tuple(asking.leases))
            return Later(now)
        if choice is None and may is not None and self._scheduler.has_open():
            return Later(now + _OTHERS_WORK)
        return Nothing() if choice is None else Later(choice)

    async def _expire_unconfirmed(self) -> None:
        """Ends leases that no worker knows of: they would hold back their tasks and limits for minutes."""
        if not self._unconfirmed:
            return
        books, now = self._books, self._books.clock.now()
        async with books.database.transaction() as tx:
            await books.log.expire(tx, self._unconfirmed, now)
            await books.frontier.expire(tx, self._unconfirmed[0].leased_at, now)
        self._unconfirmed = []

    def _may(self, offer: Offer) -> May | None:
        """Which calls this worker can make; None: all there are."""
        asked = offer.credentials, offer.facets - self._lanes.paused
        if asked not in self._served:
            facets = {lane.facet.name for lane in self._lanes.asked.values()}
            is_able = facets <= asked[1] and self._scheduler.credentials <= offer.credentials
            self._served[asked] = None if is_able else partial(self._can, *asked)
        return self._served[asked]

    def _can(self, credentials: frozenset[str], facets: frozenset[str], choice: Choice) -> bool:
        has_key = choice.credential is None or choice.credential in credentials
        return has_key and self._lanes.asked[choice.turn.lane].facet.name in facets

    def _alike(self, first: _Asking, may: May | None) -> list[_Asking]:
        """The one whose turn it is, then others who wait and may make the same calls."""
        others = (each for each in self._asking if each is not first and not each.leases and self._may(each.offer) is may)
        return [first, *islice(others, _MOST_TOGETHER - 1)]

    async def _lease_choice(self, choice: Choice, served: Sequence[_Asking], now: datetime) -> None:
        """Leases calls of one choice in one transaction, as long as the scheduler would choose it again."""
        scheduler, lane, may = self._scheduler, self._lanes.asked[choice.turn.lane], self._may(served[0].offer)
        given: list[tuple[_Asking, Lease]] = []
        try:
            async with self._books.database.transaction() as tx:
                tx.on_rollback(self._let_go_of_forgotten)
                buckets = [charge.bucket for charge in choice.charges]
                tx.on_rollback(partial(scheduler.touched, buckets))
                if self._swept_at is None or now - self._swept_at >= _SWEEP_EVERY:
                    await self._sweep(tx, now)
                room = [each for each in served for _ in range(max(each.offer.room, 1))]
                while lease := await self._lease_one(tx, lane, choice, room[len(given)].offer.worker, now):
                    given.append((room[len(given)], lease))
                    if len(given) == len(room) or not scheduler.again(choice, now, may):
                        break
        except Busy:
            self._unconfirmed = [lease for _, lease in given]
            raise
        for asking, lease in given:
            asking.leases.append(lease)
            self._out[lease.call] = lease.until, lane
        scheduler.touched(buckets)

    async def _lease_one(self, tx: Transaction, lane: Lane, choice: Choice, worker: int, now: datetime) -> Lease | None:
        """The next call of a choice, charged and logged in the transaction that leases its tasks."""
        books, watch = self._books, self._books.clock.stopwatch()
        tasks = await books.frontier.lease(tx, choice.turn, lane.draws(choice.turn.is_paged, now), now)
        rank_time = timedelta(seconds=books.clock.stopwatch() - watch)
        if not tasks:
            self._scheduler.idle(choice.turn, None)
            # What an earlier call of the same transaction took from it is there again.
            tx.on_rollback(partial(self._scheduler.wake_turns, [choice.turn]))
            return None
        asked, later = part_to_ask(tasks, lane.facet.objects_per_call)
        if later:
            await books.frontier.give_back(tx, later, now)
        ask = _ask(lane, asked)
        request, fault = _request(lane, ask)
        lease = Lease(
            worker=worker,
            service=lane.service,
            ask=ask,
            request=request,
            fault=fault,
            tasks=tuple(asked),
            credential=choice.credential,
            charges=choice.charges,
            leased_at=now,
            until=now + LEASE_TIME,
            rank_time=rank_time,
        )
        begun = await books.begin(tx, lane.lane, lease, now)
        if self._forgotten is not None and self._forgotten != books.log.forgotten:
            raise Taken("somebody was forgotten meanwhile")
        self._forgotten = books.log.forgotten
        return begun

    def _let_go_of_forgotten(self) -> None:
        """Among the tasks held in memory may be some about whoever was forgotten: all are let go, and come back when their leases
        run out. After a rollback, which puts back what was taken."""
        if self._forgotten is not None and self._forgotten != self._books.log.forgotten:
            self._forgotten = None
            self._books.frontier.let_go()

    async def settle(self, lease: Lease, answer: Answer, *, has_expired: bool = False) -> CallReport:
        report = await self._settler.settle(self._lane(lease), lease, answer, has_expired=has_expired)
        self._ended(lease)
        return report

    def _lane(self, lease: Lease) -> Lane:
        """Where a call comes from, as it was then; after a restart, as it is now."""
        known = self._out.get(lease.call)
        return known[1] if known is not None else self._lanes.asked[lease.tasks[0].lane]

    def _ended(self, lease: Lease) -> None:
        self._out.pop(lease.call, None)
        self._scheduler.touched([charge.bucket for charge in lease.charges])

    async def give_back(self, lease: Lease, until: datetime) -> None:
        books, now = self._books, self._books.clock.now()
        why = f"not asked: too many logins with {lease.credential}, the next one may be tried at {until:%Y-%m-%d %H:%M:%S} UTC"
        async with books.database.transaction() as tx:
            if await books.lose(tx, lease, Loss("unasked", why), now):
                await books.frontier.give_back(tx, lease.tasks, now)
                await registry.note_error(tx, books.crawl, "login", str(Outcome.RATE_LIMITED), lease.call, why, now)
        self._ended(lease)
        self._scheduler.wake([lease.tasks[0].lane])
        self._scheduler.hold(lease.credential, until)

    async def drop(self, lease: Lease, loss: Loss) -> int:
        # It asks nothing of the parts that may just have broken: no provider, ranker, seeder or store.
        books, now = self._books, self._books.clock.now()
        setbacks = [set_back(task, loss.why, now) for task in lease.tasks] if loss.sets_back else []
        async with books.database.transaction() as tx:
            if not await books.lose(tx, lease, loss, now):
                return 0
            await books.frontier.set_back(tx, setbacks)
            if setbacks:
                part = f"{lease.service.name}/{lease.ask.facet}"
                await registry.note_error(tx, books.crawl, part, loss.outcome, lease.call, loss.why, now)
        self._ended(lease)
        return sum(each.failure is not None for each in setbacks)

    async def hand_on(self, lease: Lease, why: str) -> None:
        """Ends a call that nobody will settle: it counts as spent, and its tasks are ready for others at once."""
        books, now = self._books, self._books.clock.now()
        async with books.database.transaction() as tx:
            await books.lose(tx, lease, Loss("lost", why), now)
            await books.frontier.give_back(tx, lease.tasks, now)
        self._ended(lease)
        self._scheduler.wake([lease.tasks[0].lane])

    async def wake(self) -> Due:
        books, now = self._books, self._books.clock.now()
        async with books.database.transaction() as tx:
            if self._scheduler.is_stuck():
                # What is held for calls that nobody may make would be waited for until its lease runs out.
                await books.frontier.release(tx, now)
            woken = await self._sweep(tx, now)
            asked = self._lanes.asked.keys() - self._watch.closed
            due = now if woken & asked else await books.frontier.next_due(tx, list(asked))
            if due is None:
                # A lane hears of what this process makes ready. Another one may have added something and died.
                self._scheduler.wake(await books.frontier.ready_in(tx, list(asked)))
        return Due(due) if due is not None else Due(stuck=self._watch.stuck())

    async def _sweep(self, tx: Transaction, now: datetime) -> frozenset[int]:
        woken = await self._books.frontier.sweep(tx, now)
        tx.after_commit(partial(self._has_swept, now))
        self._scheduler.wake(woken)
        return woken

    def _has_swept(self, now: datetime) -> None:
        self._swept_at = now
        if len(self._out) > _MOST_OUT:
            # Calls that were broken off: nobody settles them any more.
            self._out = {call: known for call, known in self._out.items() if known[0] > now}


def _ask(lane: Lane, tasks: list[Task]) -> Ask:
    targets, looks = tuple(task.target for task in tasks), min(task.pages for task in tasks)
    return Ask(lane.facet.name, targets, tasks[0].progress, lane.hints, looks)


def _request(lane: Lane, ask: Ask) -> tuple[Request, str]:
    """The request, or why our own code could not build it: that costs one call, like every fault of ours."""
    try:
        return lane.provider.request(ask), ""
    except Exception as fault:
        return NO_REQUEST, fault_words(fault)
