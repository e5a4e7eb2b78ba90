"""One process that runs a crawl: the loop of calls, the parts that run as long as it does, and the watch over both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from bowerbird.crawl.life.life import ASKED_TO_STOP, Life
from bowerbird.crawl.process.endings import BROKEN, STOPPED, Ending
from bowerbird.crawl.process.remarks import Remarks
from bowerbird.crawl.process.restarts import keep_running
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.supervisor import Supervisor, crash_words
from bowerbird.crawl.process.worker import Worker
from bowerbird.errors import BowerbirdError, Busy, DiskFull, Failure, UserError, failure_of
from bowerbird.flows.flow import Size
from bowerbird.model import Arrival, CrawlState

_CALLS = "calls"
_PATIENCE = timedelta(seconds=30)
"""How long the end of a crawl waits for its parts to save what they hold."""
_SILENCE = timedelta(minutes=15)
"""Longer than a call may take and than our own database is waited for: a loop that has not moved since then is stuck."""


class _BrokenOff(Exception):
    """The loop of calls was silent for so long that it is to begin again."""


Prevented = Callable[[], Failure | None]
"""Why a crawl could not do what it is there for, if it could not."""


class Process:
    """Runs one crawl here, as one of those that may work on it."""

    def __init__(
        self,
        life: Life,
        worker: Worker,
        rules: StopRules,
        remarks: Remarks,
        prevented: Callable[[], Failure | None] = lambda: None,
    ) -> None:
        """`prevented`: why the crawl could not do what it is there for, if it could not."""
        self._life = life
        self._worker = worker
        self._rules = rules
        self._remarks = remarks
        self._prevented = prevented
        self._clock = rules.clock
        self._supervisor = Supervisor(rules.clock, self._note_part)
        self._is_enough = asyncio.Event()
        self._loop: asyncio.Task[Ending] | None = None
        self.is_begun = False
        """Whether the crawl's rows say that it runs."""

    async def run(self, seeds: Iterable[Arrival] | AsyncIterable[Arrival], *, slots: int, watch_every: timedelta) -> Ending:
        """Returns when the crawl has ended, with the reason; the database then says the same."""
        try:
            await self._begin(seeds)
        except UserError as error:
            await self._life.finish(CrawlState.FAILED, error.failure)
            raise
        watcher = asyncio.create_task(self._watch(watch_every), name="watch")
        for part in self._rules.parts:
            self._supervisor.start(part)
        try:
            ending = await self._work(slots)
            self._supervisor.dismiss(_CALLS)
            if ending.state == CrawlState.FINISHED:
                await self._supervisor.finish(_PATIENCE, self._is_enough, self._rules.last_moment())
        except Exception as error:
            await self._life.fail(failure_of(error))
            raise
        finally:
            await self._supervisor.end(_PATIENCE)
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
        ending = self._rules.judged(ending, self._prevented)
        for ended in [part.ended for part in self._rules.parts if part.ended is not None]:
            # It is over, whatever somebody makes of that. Before we take leave: who has left may claim nothing.
            with suppress(Exception):
                await ended(ending.state, str(ending.reason))
        await self._life.finish(ending.state, ending.reason)
        return ending

    async def abandon(self, reason: Failure) -> None:
        """Ends the crawl before it has begun."""
        await self._life.finish(CrawlState.FAILED, reason)

    def end(self, why: str, code: str = STOPPED) -> None:
        """Asks for an orderly end: what is in flight comes home first."""
        self._end(Ending.stopped(why, code))

    def _end(self, ending: Ending) -> None:
        self._is_enough.set()
        self._worker.end(ending)

    def longest_silence(self) -> timedelta:
        """For how long the most silent part of the process has shown no sign of life."""
        return self._supervisor.longest_silence()

    async def _begin(self, seeds: Iterable[Arrival] | AsyncIterable[Arrival]) -> None:
        tally, begun = self._rules.tally, await self._life.begin()
        self.is_begun = True
        if begun.trouble:
            tally.blocked(begun.trouble, self._clock.now())
        tally.ran_before, tally.elsewhere = begun.ran_before, begun.size
        self._pause(begun.is_paused)
        for part in self._rules.parts:
            if part.prepare is not None:
                await part.prepare()
        await self._life.add_seeds(seeds)
        if begun.is_stopped:
            self._end(Ending(CrawlState.STOPPED, ASKED_TO_STOP))

    def _pause(self, is_paused: bool) -> None:
        self._worker.pause(is_paused)
        self._supervisor.pause(is_paused)

    async def _work(self, slots: int) -> Ending:
        """The loop of calls; when something unforeseen breaks it, it is noted and begins again."""

        async def crashed(error: Exception, wait: timedelta) -> bool:
            if isinstance(error, BowerbirdError):
                return False
            if not isinstance(error, _BrokenOff):
                await self._note_part(_CALLS, crash_words(error, wait))
            return True

        return await keep_running(lambda: self._looped(slots), self._clock, crashed)

    async def _looped(self, slots: int) -> Ending:
        """One run of the loop of calls in a task of its own, watched; raises `_BrokenOff` when it was silent for long."""
        self._loop = asyncio.create_task(self._worker.run(slots, self._rules), name=_CALLS)
        self._supervisor.attend(_CALLS, self._loop, self._worker.is_alive_since, _SILENCE, self._break_off)
        try:
            return await self._loop
        except asyncio.CancelledError as cancelled:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            raise _BrokenOff from cancelled

    async def _break_off(self) -> None:
        """Ends the loop of calls with what it has in flight; it begins again at once."""
        if self._loop is not None:
            self._loop.cancel()

    async def _watch(self, every: timedelta) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now() + every)
            try:
                await self._look()
                await self._supervisor.look()
            except (Busy, DiskFull) as error:
                self._remarks.refused(str(error))
            except BowerbirdError as error:
                self._end(Ending.failed(error.failure))
                return
            except Exception as error:
                # Without a watcher there is no heartbeat and no way to stop it: better to end in order.
                words = f"the watch over the crawl broke: {type(error).__name__}: {error}"
                self._end(Ending.failed(Failure(BROKEN, words)))
                return

    async def _look(self) -> None:
        tally = self._rules.tally
        await self._remarks.ask_the_time()
        seen = await self._life.look(self._remarks.made)
        for words in (*self._remarks.written(seen.remarks), *seen.troubles):
            tally.blocked(words, self._clock.now())
        self._pause(seen.is_paused)
        if seen.stop is not None:
            self._end(Ending(CrawlState.STOPPED, seen.stop))
        # Other workers' calls count too.
        tally.elsewhere = _minus(seen.size, tally.size(in_all=False))

    async def _note_part(self, part: str, words: str) -> None:
        """Writes down what befell a part of the process, and shows it."""
        self._rules.tally.blocked(f"{part}: {words}", self._clock.now())
        await self._life.note(part, words)


def _minus(whole: Size, part: Size) -> Size:
    return Size(
        calls=whole.calls - part.calls,
        items=whole.items - part.items,
        users=whole.users - part.users,
        posts=whole.posts - part.posts,
    )
