"""The loop of a crawl: lease, call, settle, many at once; wait only when the ledgers or the frontier say so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from bowerbird.crawl.access.signing import Sessions
from bowerbird.crawl.process.endings import GIVEN_UP, NOTHING_LEFT, STUCK, Ending
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.supervisor import fault_words
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.work.dispatcher import Dispatcher, Report
from bowerbird.crawl.work.lanes import LaneLease
from bowerbird.errors import BowerbirdError, Busy, DiskFull, Fenced
from bowerbird.model import Answer
from bowerbird.ports import Clock, Transport

T = TypeVar("T")


class Worker:
    """Makes the calls of one crawl until there is a reason to end."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        transport: Transport,
        sessions: Sessions,
        clock: Clock,
        tally: Tally,
        *,
        glance: timedelta = timedelta(seconds=1),
        ends_when_empty: Callable[[], bool] = lambda: True,
        is_fed: Callable[[], bool] = lambda: False,
        exhausted: Callable[[datetime | None, datetime | None], str] = lambda calls_at, due: "",
    ) -> None:
        """`glance`: how often the loop looks up while it waits, to see targets that other workers added; `is_fed`: whether
        something beside the loop may still add some; `exhausted`: why nothing more can be asked, told when what waits may be
        asked and when more will wait."""
        self._exhausted = exhausted
        self._ends_when_empty = ends_when_empty
        self._is_fed = is_fed
        self._dispatcher = dispatcher
        self._transport = transport
        self._sessions = sessions
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

    async def run(self, slots: int, enough: Callable[[int], str]) -> Ending:
        """Runs until ended, until nothing is left, or until `enough` (told how many calls are in flight) gives a reason."""
        self._trouble = None
        try:
            await self._loop(slots, enough)
            await self._land()
        except asyncio.CancelledError:
            await self._break_off()
            raise
        if self._trouble is not None:
            raise self._trouble
        return self._ending or Ending("stopped", "")

    async def _loop(self, slots: int, enough: Callable[[int], str]) -> None:
        while self._ending is None and self._trouble is None:
            self._changed.clear()
            if self._has_moved or not self._calls:
                self._moved_at, self._has_moved = self._clock.now(), False
            if reason := enough(sum(not call.done() for call in self._calls)):
                self.end(Ending("finished", reason))
            elif len(self._calls) >= slots or self._is_paused:
                await self._changed.wait()
            else:
                try:
                    await self._step(self._room(slots, enough))
                except Exception as error:
                    # Whatever it is, what is in flight comes home first.
                    self._trouble = error

    def _room(self, slots: int, enough: Callable[[int], str]) -> int:
        """How many calls may be begun at once: as many as there are free slots and no stop condition speaks against."""
        room = 1
        while len(self._calls) + room < slots and not enough(len(self._calls) + room):
            room += 1
        return room

    async def _step(self, room: int) -> None:
        # Asked before anything is awaited: who ends feeding meanwhile may have left something.
        is_fed = self._is_fed()
        try:
            leases = await self._patiently(lambda: self._dispatcher.lease(room))
        except Fenced as fenced:
            # Taken for dead: the watch over the crawl enrols us anew.
            self._tally.blocked(str(fenced), self._clock.now())
            await self._clock.wait(self._changed, self._clock.now() + self._glance)
            return
        if leases is None or isinstance(leases, datetime):
            if leases is None or leases > self._clock.now():
                await self._rest(leases, is_fed)
        else:
            for lease in leases:
                self._start(lease)
        # A burst of leases must not keep answers waiting.
        await asyncio.sleep(0)

    def _start(self, lease: LaneLease) -> None:
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

    async def _call(self, lease: LaneLease) -> None:
        """One call from its request to its end: however it goes, at the end it is settled, dropped or failed."""
        try:
            answer = await self._send(lease)
            if answer is not None:
                report = await self._patiently(lambda: self._dispatcher.settle(lease, answer))
                self._tally.settled(report, self._clock.now())
        except Fenced as fenced:
            await self._drop(lease, "fenced", str(fenced))
            self._tally.fenced += 1
        except (Busy, DiskFull):
            # Waited for in vain: whoever starts next finds the call and ends it.
            raise
        except BowerbirdError as error:
            await self._drop(lease, "unasked", str(error))
            raise
        except Exception as fault:
            await self._fail(lease, fault_words(fault))

    async def _fail(self, lease: LaneLease, why: str) -> None:
        """Loses the one call whose answer broke our own code; the crawl goes on."""
        try:
            self._tally.given_up += await self._patiently(lambda: self._dispatcher.fail(lease, why))
        except (Busy, DiskFull):
            raise
        except Exception as fault:
            # Not even that: its tasks come back when their lease runs out.
            why = f"{why}; then {fault_words(fault)}"
            await self._drop(lease, "fault", why)
        self._tally.blocked(f"{lease.ask.facet}: {why}", self._clock.now())

    async def _drop(self, lease: LaneLease, outcome: str, why: str) -> None:
        await self._patiently(lambda: self._dispatcher.drop(lease, outcome, why))

    async def _send(self, lease: LaneLease) -> Answer | None:
        """The service's answer; None if the call was given back because its credential may not log in yet."""
        lane = lease.lane
        request = lane.provider.request(lease.ask)
        if lease.credential is not None:
            signed = await self._sessions.signed(request, lease.credential, lane.provider, lane.service)
            if isinstance(signed, Answer):
                until = self._sessions.closed_until(lease.credential)
                if until is None:
                    return signed
                await self._patiently(lambda: self._dispatcher.give_back(lease, until))
                return None
            request = signed
        return await self._transport.send(lane.service, request)

    async def _rest(self, until: datetime | None, is_fed: bool) -> None:
        """Waits for the next window, the next due task, an answer or a control, whichever comes first."""
        # Asked before anything is awaited: a call that comes home meanwhile may have made something ready.
        is_alone = not self._calls
        due = await self._patiently(self._dispatcher.wake)
        now = self._clock.now()
        if is_alone and not is_fed and (reason := self._exhausted(until, due)):
            self.end(Ending("finished", reason))
            return
        if until is None and due is None and is_alone and not is_fed and (ending := self._dry()):
            self.end(ending)
            return
        self._tally.waits(until, due)
        self._rests_until = min(time for time in (until, due, now + self._glance) if time is not None)
        await self._clock.wait(self._changed, self._rests_until)
        self._rests_until = None

    def _dry(self) -> Ending | None:
        """How the crawl ends when nothing is ready, in flight or due; None when it is told to wait for more."""
        if why := self._dispatcher.stuck():
            return Ending("failed", f"{why}; {STUCK}")
        if not self._ends_when_empty():
            return None
        given_up = f"; {self._tally.given_up:,} targets {GIVEN_UP}"
        return Ending("finished", NOTHING_LEFT + (given_up if self._tally.given_up else ""))

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


__all__ = ["Ending", "Report", "Worker"]
