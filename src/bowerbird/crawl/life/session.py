"""One run of a crawl from its first row to its last: recover, seed, work, watch the controls, end in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.life.clock_set_back import note_pulled_back, pull_back
from bowerbird.crawl.life.plan_versions import OUTDATED, version_held
from bowerbird.crawl.life.recovery import Recovery
from bowerbird.crawl.process.endings import Ending
from bowerbird.crawl.process.enrolment import Enrolment
from bowerbird.crawl.process.restarts import keep_running
from bowerbird.crawl.process.supervisor import Supervisor, crash_words
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.work.dispatcher import Dispatcher, Parts
from bowerbird.db.shared_time import set_clock
from bowerbird.errors import BowerbirdError, Busy, DiskFull, UserError
from bowerbird.flows.flow import Size, Stop
from bowerbird.model import Arrival, Outcome
from bowerbird.model.times import span
from bowerbird.ports import Part, Transaction

_CHUNK = 10_000
_CALLS = "calls"
_PATIENCE = timedelta(seconds=30)
"""How long the end of a crawl waits for what runs beside it to save what it holds."""
_SILENCE = timedelta(minutes=15)
"""Longer than a call may take and than our own database is waited for: a loop that has not moved since then is stuck."""
_WOKEN = "this process was silent for so long that others took over what it held; it goes on as a new worker"
_NOTABLE_DRIFT = timedelta(seconds=5)
_CLOCK_SET_EVERY = timedelta(seconds=30)
_NOTABLE_OUTAGE = timedelta(seconds=5)
_LONGEST_REST = timedelta(days=30)
"""How long parts may go on after the last call, in a crawl whose time is not limited."""


class _BrokenOff(Exception):
    """The loop of calls was silent for so long that it is to begin again."""


class Session:
    """Runs one crawl in this process."""

    def __init__(
        self,
        parts: Parts,
        crawl: int,
        enrolment: Enrolment,
        worker: Worker,
        dispatcher: Dispatcher,
        tally: Tally,
        stop: Stop,
        beside: Sequence[Part] = (),
        before: Callable[[], Awaitable[None]] | None = None,
        barred: Callable[[], str] = str,
    ) -> None:
        """`beside`: what runs as long as the loop of calls does, such as streams and scheduled backups; `before`: what must be
        done before its first call; `barred`: why the crawl could not do what it is there for, if it could not."""
        self._parts = parts
        self._crawl = crawl
        self._enrolment = enrolment
        self._recovery = Recovery(parts.log, parts.ledgers, parts.frontier, crawl)
        self._worker = worker
        self._dispatcher = dispatcher
        self._stop = stop
        self._has_noted_drift = False
        self._has_noted_correction = False
        self._set_clock_at = parts.clock.now()
        self._refused: tuple[datetime, str] | None = None
        """Since when our own database refuses, and what it said first."""
        self._beside = beside
        self._before = before
        self._barred = barred
        self._supervisor = Supervisor(parts.clock, self._note_part)
        self._is_enough = asyncio.Event()
        self.is_begun = False
        """Whether its rows say that it runs."""
        self._loop: asyncio.Task[Ending] | None = None
        self.tally = tally

    async def run(self, seeds: Iterable[Arrival] | AsyncIterable[Arrival], *, slots: int, watch_every: timedelta) -> Ending:
        """Returns when the crawl has ended, with the reason; the database then says the same."""
        try:
            await self._begin(seeds)
        except UserError as error:
            await self._finish(Ending("failed", str(error)))
            raise
        watcher = asyncio.create_task(self._watch(watch_every), name="watch")
        for part in self._beside:
            self._supervisor.start(part)
        try:
            ending = await self._work(slots)
            self._supervisor.dismiss(_CALLS)
            if ending.state == "finished":
                await self._supervisor.finish(_PATIENCE, self._is_enough, self._last_moment())
        except Exception as error:
            await self._mark_quietly("failed", str(error) or type(error).__name__)
            raise
        finally:
            await self._supervisor.end(_PATIENCE)
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
        ending = self._judged(ending)
        await self._finish(ending)
        return ending

    async def abandon(self, reason: str) -> None:
        """Ends the crawl before it has begun."""
        await self._finish(Ending("failed", reason))

    def _judged(self, ending: Ending) -> Ending:
        """The ending with what parts never managed to do and what servers do not offer; a crawl that brought nothing because of
        it has failed."""
        if ending.state == "finished" and not self.tally.size(in_all=False).posts and (why := self._barred()):
            return Ending("failed", why)
        failures = [part.failure() for part in self._beside if part.failure is not None]
        lacking, is_barren = self.tally.not_offered, self._is_barren(ending)
        if not any(failures) and not lacking and not is_barren:
            return ending
        is_unheard = any(failures) and all(failures) and not self.tally.size(in_all=False).items
        is_refused = any(part.is_refused() for part in self._beside if part.is_refused is not None)
        is_unanswered = bool(lacking) and not self.tally.by_outcome[Outcome.OK]
        reason = "; ".join(filter(None, (ending.reason, *lacking, *failures)))
        if is_barren and not is_unanswered:
            reason += f"; nothing was answered at all, the last time: {self.tally.trouble}"
        if is_unanswered:
            reason += "; nothing else was answered: ask for something else, or ask another server (`bowerbird doctor` says which)"
        return Ending("failed" if is_unheard or is_refused or is_unanswered or is_barren else ending.state, reason)

    def _is_barren(self, ending: Ending) -> bool:
        """Whether everything was asked, some of it given up, and not one question answered, be it by "there is no such thing"."""
        answered = sum(
            count for outcome, count in self.tally.by_outcome.items() if outcome is Outcome.OK or outcome.is_about_target
        )
        has_items = bool(self.tally.size(in_all=True).items)
        return ending.state == "finished" and bool(self.tally.given_up) and not answered and not has_items

    def longest_silence(self) -> timedelta:
        """For how long the most silent part of the crawl has shown no sign of life."""
        return self._supervisor.longest_silence()

    async def _break_off(self) -> None:
        """Ends the loop of calls with what it has in flight; it begins again at once."""
        if self._loop is not None:
            self._loop.cancel()

    async def _looped(self, slots: int) -> Ending:
        """One run of the loop of calls in a task of its own, watched; raises `_BrokenOff` when it was silent for long."""
        self._loop = asyncio.create_task(self._worker.run(slots, self._enough), name=_CALLS)
        self._supervisor.attend(_CALLS, self._loop, self._worker.is_alive_since, _SILENCE, self._break_off)
        try:
            return await self._loop
        except asyncio.CancelledError as cancelled:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            raise _BrokenOff from cancelled

    async def _work(self, slots: int) -> Ending:
        """The loop of calls; when something unforeseen breaks it, it is noted and begins again."""

        async def crashed(error: Exception, wait: timedelta) -> bool:
            if isinstance(error, BowerbirdError):
                return False
            if not isinstance(error, _BrokenOff):
                await self._note_part(_CALLS, crash_words(error, wait))
            return True

        return await keep_running(lambda: self._looped(slots), self._parts.clock, crashed)

    async def _note_part(self, part: str, words: str) -> None:
        """Writes down what befell a part of the crawl, and shows it."""
        now = self._parts.clock.now()
        self.tally.blocked(f"{part}: {words}", now)
        with suppress(Busy, DiskFull):
            async with self._parts.database.transaction() as tx:
                await registry.note_error(tx, self._crawl, part, None, None, words, now)

    def end(self, reason: str) -> None:
        """Asks for an orderly end: what is in flight comes home first."""
        self._is_enough.set()
        self._worker.end(Ending("stopped", reason))

    async def _begin(self, seeds: Iterable[Arrival] | AsyncIterable[Arrival]) -> None:
        parts = self._parts
        async with parts.database.transaction() as tx:
            now = parts.clock.now()
            ahead = await pull_back(tx, self._enrolment.number(), now)
            if ahead is not None:
                self.tally.blocked(await note_pulled_back(tx, self._crawl, ahead, now), now)
            await parts.ledgers.load(tx, now)
            await self._recovery.recover(tx, self._enrolment.number(), now)
            await parts.frontier.revive(tx, list(parts.lanes), now)
            row = await registry.read_crawl(tx, self._crawl)
            # Who joins others that were told to pause waits with them; alone, to start is to go on.
            is_paused = row.wanted == "paused" and await registry.has_company(tx, self._enrolment.number())
            if not is_paused:
                await registry.set_wanted(tx, self._crawl, "running", now)
                await registry.set_state(tx, self._crawl, "running", None, now)
            self.tally.ran_before = await registry.time_run(tx, row.name, self._enrolment.number())
        self.is_begun = True
        self._worker.pause(is_paused)
        self._supervisor.pause(is_paused)
        self.tally.elsewhere = row.size
        if self._before is not None:
            await self._before()
        await self._sow(seeds)
        parts.scheduler.wake(frozenset(parts.lanes))

    async def _sow(self, seeds: Iterable[Arrival] | AsyncIterable[Arrival]) -> None:
        """Adds the seeds, which may be millions, in transactions of bearable size; known ones change nothing."""
        async for chunk in _chunks(seeds):
            async with self._parts.database.transaction() as tx:
                await self._dispatcher.add(tx, chunk, None, self._parts.clock.now())

    async def _watch(self, every: timedelta) -> None:
        while True:
            await self._parts.clock.sleep_until(self._parts.clock.now() + every)
            try:
                await self._look()
                await self._supervisor.look()
            except (Busy, DiskFull) as error:
                self._refused = self._refused or (self._parts.clock.now(), str(error))
            except BowerbirdError as error:
                self._is_enough.set()
                self._worker.end(Ending("failed", str(error)))
                return
            except Exception as error:
                # Without a watcher there is no heartbeat and no way to stop it: better to end in order.
                self._is_enough.set()
                self._worker.end(Ending("failed", f"the watch over the crawl broke: {type(error).__name__}: {error}"))
                return

    async def _look(self) -> None:
        parts = self._parts
        # A machine that just woke up looks as if its clock was set, until it has asked.
        if parts.clock.now() >= self._set_clock_at or self._has_drifted():
            await set_clock(parts.database, parts.clock)
            self._set_clock_at = parts.clock.now() + _CLOCK_SET_EVERY
        async with parts.database.transaction() as tx:
            now = parts.clock.now()
            me = await self._enrolment.renew(tx, now)
            if me != self._enrolment.number():
                await registry.note_error(tx, self._crawl, "worker", None, None, _WOKEN, now)
            # What others have taken and given back since: a stale copy may wait for a call that has long ended.
            await parts.ledgers.load(tx, now)
            freed = await self._recovery.recover(tx, me, now)
            row = await registry.read_crawl(tx, self._crawl)
            is_outdated = await version_held(tx, self._crawl) != self._enrolment.plan
            await self._note_clock(tx, now)
            await self._note_outage(tx, now)
            is_paused = row.wanted == "paused"
            if is_paused != (row.state == "paused"):
                await registry.set_state(tx, self._crawl, "paused" if is_paused else "running", None, now)
        self._refused = None
        if self._enrolment.confirm(me):
            parts.frontier.let_go()
            freed.append(_WOKEN)
        for words in freed:
            self.tally.blocked(words, now)
        parts.scheduler.wake(frozenset(parts.lanes))
        self._worker.pause(is_paused)
        self._supervisor.pause(is_paused)
        if row.wanted == "stopped" or is_outdated:
            self._is_enough.set()
            self._worker.end(Ending("stopped", "asked to stop" if row.wanted == "stopped" else OUTDATED))
        # Other workers' calls count too.
        self.tally.elsewhere = _minus(row.size, self.tally.size(in_all=False))

    async def _note_clock(self, tx: Transaction, now: datetime) -> None:
        """Says once that the system's clock was set, or is another than the one that all go by; windows go on by ours."""
        if abs(parted := self._parts.clock.correction()) >= _NOTABLE_DRIFT and not self._has_noted_correction:
            self._has_noted_correction = True
            message = f"the clock of this machine is {_ahead(-parted)} the database's; the crawl goes by the latter, one is wrong"
            await registry.note_error(tx, self._crawl, "clock", None, None, message, now)
            self.tally.blocked(message, now)
        if not self._has_drifted():
            return
        self._has_noted_drift = True
        drift = self._parts.clock.drift()
        message = f"the system clock was set by {drift}; limits are kept by the steady clock until this process ends"
        await registry.note_error(tx, self._crawl, "clock", None, None, message, now)
        self.tally.blocked(message, now)

    def _has_drifted(self) -> bool:
        """Whether the system's clock has parted from ours, and nobody was told so yet."""
        return abs(self._parts.clock.drift()) >= _NOTABLE_DRIFT and not self._has_noted_drift

    async def _note_outage(self, tx: Transaction, now: datetime) -> None:
        """Says of our own database, now that it answers again, for how long it did not."""
        if self._refused is None or now - self._refused[0] < _NOTABLE_OUTAGE:
            return
        since, words = self._refused
        message = f"refused for {(now - since).total_seconds():.0f} s, which the crawl waited: {words}"
        await registry.note_error(tx, self._crawl, "database", None, None, message, now)

    def _enough(self, in_flight: int) -> str:
        size = self.tally.size()
        elapsed = self.tally.ran_before + (self._parts.clock.now() - self.tally.started_at)
        # Calls in flight are as good as made: a budget of calls is never overdrawn.
        return (
            self._stop.reached(
                structs.replace(size, calls=size.calls + in_flight, elapsed=elapsed, earlier=self.tally.ran_before)
            )
            or ""
        )

    def _last_moment(self) -> datetime:
        """When the crawl's time is over."""
        if self._stop.duration is None:
            return self._parts.clock.now() + _LONGEST_REST
        return self.tally.started_at + self._stop.duration - self.tally.ran_before

    async def _finish(self, ending: Ending) -> None:
        parts = self._parts
        async with parts.database.transaction() as tx:
            now = parts.clock.now()
            await parts.frontier.release(tx, now)
            await registry.heartbeat(tx, self._enrolment.number(), now)
            await registry.end_workers(tx, [self._enrolment.number()], now)
            if not await registry.has_company(tx, self._enrolment.number()):
                await registry.set_state(tx, self._crawl, ending.state, ending.reason, now)

    async def _mark_quietly(self, state: str, reason: str) -> None:
        # The database just refused; if it still does, the next start finds a dead worker and says the same.
        with suppress(BowerbirdError):
            async with self._parts.database.transaction() as tx:
                await registry.set_state(tx, self._crawl, state, reason, self._parts.clock.now())


def _ahead(by: timedelta) -> str:
    return f"{span(abs(by))} {'ahead of' if by > timedelta(0) else 'behind'}"


def _minus(whole: Size, part: Size) -> Size:
    return Size(
        calls=whole.calls - part.calls,
        items=whole.items - part.items,
        users=whole.users - part.users,
        posts=whole.posts - part.posts,
    )


async def _chunks(seeds: Iterable[Arrival] | AsyncIterable[Arrival]) -> AsyncIterator[Sequence[Arrival]]:
    chunk: list[Arrival] = []
    async for seed in seeds if isinstance(seeds, AsyncIterable) else _one_by_one(seeds):
        chunk.append(seed)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


async def _one_by_one(seeds: Iterable[Arrival]) -> AsyncIterator[Arrival]:
    for seed in seeds:
        yield seed
