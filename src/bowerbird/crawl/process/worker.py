"""The loop of calls: lease, sign, send, settle, many at once; it waits only when its work source says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import structs

from bowerbird.crawl.access.signing import Caller
from bowerbird.crawl.process.endings import BUDGET_SPENT, LIMIT_REACHED, NOTHING_LEFT, SOME_GIVEN_UP, Ending
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.supervisor import fault_words
from bowerbird.crawl.process.tally import Tally
from bowerbird.errors import BowerbirdError, Busy, DiskFull, Fenced
from bowerbird.model import Due, Later, Lease, Leased, Loss, Nothing
from bowerbird.ports import Clock, WorkSource

T = TypeVar("T")

GLANCE = timedelta(seconds=1)


class Worker:
    """Makes calls of one crawl until there is a reason to end. It knows its work source, and nothing of where work comes from."""

    def __init__(self, source: WorkSource, caller: Caller, clock: Clock, tally: Tally, glance: timedelta = GLANCE) -> None:
        """`glance`: how often the loop looks up while it waits, to see targets that other workers added."""
        self._source = source
        self._caller = caller
        self._clock = clock
        self._tally = tally
        self._glance = glance
        self._is_paused = False
        self._changed = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()
        self._ending: Ending | None = None
        self._trouble: BaseException | None = None
        self._moved_at = clock.now()
        self._has_moved = False
        """Since then a call began or came home."""
        self._rests_until: datetime | None = None
        self._seems_empty = False
        """The last time that was asked nothing was left, neither now nor later."""

    def is_alive_since(self) -> datetime:
        """When a call last began or came home; while nothing is in flight and it rests on purpose, it is alive now."""
        now = self._clock.now()
        is_resting = self._rests_until is not None and now <= self._rests_until
        return now if not self._calls and (is_resting or self._is_paused) else self._moved_at

    def end(self, ending: Ending) -> None:
        """Asks the loop to finish what is in flight and end; the first reason stays."""
        self._ending = self._ending or ending
        self._changed.set()

    def pause(self, is_paused: bool) -> None:
        """Holds back new calls, or lets them go on; what is in flight comes home either way."""
        self._is_paused = is_paused
        self._changed.set()

    async def run(self, slots: int, rules: StopRules) -> Ending:
        """Runs until ended, until nothing is left, or until the crawl's rules say that it is enough."""
        self._trouble = None
        try:
            await self._loop(slots, rules)
            await self._land()
        except asyncio.CancelledError:
            await self._break_off()
            raise
        if self._trouble is not None:
            raise self._trouble
        return self._ending or Ending.stopped("interrupted")

    async def _loop(self, slots: int, rules: StopRules) -> None:
        while self._ending is None and self._trouble is None:
            self._changed.clear()
            # Known until the next question, and no longer: what was so before a pause says nothing.
            seemed_empty, self._seems_empty = self._seems_empty, False
            if self._has_moved or not self._calls:
                self._moved_at, self._has_moved = self._clock.now(), False
            in_flight = sum(not call.done() for call in self._calls)
            if reason := rules.enough(in_flight):
                self.end(Ending.finished(LIMIT_REACHED, reason))
            elif len(self._calls) >= slots or self._is_paused:
                await self._changed.wait()
            elif (until := rules.held_until(in_flight)) is not None:
                await self._hold(until)
            else:
                try:
                    await self._step(self._room(slots, rules), rules, seemed_empty)
                except Exception as error:
                    # Whatever it is, what is in flight comes home first.
                    self._trouble = error

    def _room(self, slots: int, rules: StopRules) -> int:
        """How many calls may be begun at once: as many as there are free slots, and as the crawl's rules let go."""
        room, begun = 1, len(self._calls)
        while begun + room < slots and not rules.enough(begun + room) and rules.held_until(begun + room) is None:
            room += 1
        return room

    async def _hold(self, until: datetime) -> None:
        """Waits for the crawl's own pace, an answer or a control, whichever comes first."""
        self._tally.waits(until, None)
        self._tally.paced_until = until
        self._rests_until = until
        await self._clock.wait(self._changed, until)
        self._rests_until = self._tally.paced_until = None

    async def _step(self, room: int, rules: StopRules, seemed_empty: bool) -> None:
        # Asked before anything is awaited: who ends feeding meanwhile may have left something.
        is_fed = rules.is_fed()
        try:
            work = await self._patiently(lambda: self._source.lease(self._caller.offer(room)))
        except Fenced as fenced:
            # Taken for dead: the watch over the crawl enrols us anew.
            self._tally.blocked(str(fenced), self._clock.now())
            await self._clock.wait(self._changed, self._clock.now() + self._glance)
            return
        if isinstance(work, Leased):
            for lease in work.leases:
                self._start(lease)
        elif isinstance(work, Nothing) or work.at > self._clock.now():
            ending = await self._rest(work, is_fed, rules)
            # Asked once more: what a dead worker held may have become ready after this question and before the next.
            self._seems_empty = ending is not None and isinstance(work, Nothing)
            if ending and (seemed_empty or not self._seems_empty):
                self.end(ending)
        # A burst of leases must not keep answers waiting.
        await asyncio.sleep(0)

    def _start(self, lease: Lease) -> None:
        task = asyncio.create_task(self._call(lease))
        self._calls.add(task)
        self._has_moved = True
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._has_moved = True
        self._changed.set()
        if not task.cancelled() and task.exception() is not None:
            self._trouble = self._trouble or task.exception()

    async def _call(self, lease: Lease) -> None:
        """One call from its request to its end: however it goes, at the end it is settled, dropped or failed."""
        try:
            if lease.fault:
                await self._fail(lease, lease.fault)
            else:
                await self._ask(lease)
        except Fenced as fenced:
            await self._drop(lease, Loss("fenced", str(fenced)))
            self._tally.fenced += 1
        except (Busy, DiskFull):
            # Waited for in vain: whoever starts next finds the call and ends it.
            raise
        except BowerbirdError as error:
            await self._drop(lease, Loss("unasked", str(error)))
            raise
        except Exception as fault:
            await self._fail(lease, fault_words(fault))

    async def _ask(self, lease: Lease) -> None:
        answer = await self._caller.call(lease)
        if isinstance(answer, Later):
            await self._patiently(lambda: self._source.give_back(lease, answer.at))
            return
        has_expired = self._caller.may_have_expired(lease)
        report = await self._patiently(lambda: self._source.settle(lease, answer, has_expired=has_expired))
        if report.has_expired:
            self._caller.renew(lease.credential)
        self._tally.settled(report, self._clock.now())

    async def _fail(self, lease: Lease, why: str) -> None:
        """Loses the one call whose answer broke our own code; the crawl goes on."""
        try:
            self._tally.given_up += await self._drop(lease, Loss("fault", why, sets_back=True))
        except (Busy, DiskFull):
            raise
        except Exception as fault:
            # Not even that: its tasks come back when their lease runs out.
            why = f"{why}; then {fault_words(fault)}"
            await self._drop(lease, Loss("fault", why))
        self._tally.blocked(f"{lease.ask.facet}: {why}", self._clock.now())

    async def _drop(self, lease: Lease, loss: Loss) -> int:
        return await self._patiently(lambda: self._source.drop(lease, loss))

    async def _rest(self, work: Later | Nothing, is_fed: bool, rules: StopRules) -> Ending | None:
        """Waits for the next window, the next due task, an answer or a control, whichever comes first. Where none can come
        it says how the crawl would end."""
        # Asked before anything is awaited: a call that comes home meanwhile may have made something ready.
        is_alone = not self._calls
        until, due = work.at if isinstance(work, Later) else None, await self._patiently(self._source.wake)
        now = self._clock.now()
        if is_alone and not is_fed and (ending := self._over(until, due, rules)):
            return ending
        self._tally.waits(until, due.at)
        self._rests_until = min(time for time in (until, due.at, now + self._glance) if time is not None)
        await self._clock.wait(self._changed, self._rests_until)
        self._rests_until = None
        return None

    def _over(self, until: datetime | None, due: Due, rules: StopRules) -> Ending | None:
        """How the crawl ends when nothing is in flight and nothing may be asked before `until`; None when it goes on."""
        if reason := rules.exhausted(until, due.at):
            return Ending.finished(BUDGET_SPENT, reason)
        if until is not None or due.at is not None:
            return None
        if due.stuck is not None:
            advice = "; ".join(filter(None, (due.stuck.advice, "then start again: what waits is asked then")))
            return Ending.failed(structs.replace(due.stuck, advice=advice))
        if not rules.ends_when_empty():
            return None
        if given_up := self._tally.given_up:
            what = f"nothing is left to ask; {given_up:,} targets were given up, the next start tries them again"
            return Ending.finished(SOME_GIVEN_UP, what)
        return Ending.finished(NOTHING_LEFT, "nothing is left to ask")

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        return await patiently(work, self._clock, self._tally.blocked)

    async def _break_off(self) -> None:
        """Gives up the calls in flight: they count as spent, and their tasks come back when the leases run out."""
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _land(self) -> None:
        """Lets the calls in flight come home: an answer already paid for is not thrown away."""
        while self._calls:
            await asyncio.wait(set(self._calls))
