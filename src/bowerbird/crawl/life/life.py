"""The life of a crawl in the database, whoever runs it: begun, recovered, told to pause or stop, finished. Nothing here waits."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta

from msgspec import Struct

from bowerbird.crawl.life import controls, registry
from bowerbird.crawl.life.clock_set_back import note_pulled_back, pull_back
from bowerbird.crawl.life.plan_versions import OUTDATED, version_held
from bowerbird.crawl.life.recovery import Recovery
from bowerbird.crawl.process.workers.enrolment import Enrolment
from bowerbird.crawl.work.bookkeeping import Bookkeeping
from bowerbird.crawl.work.lanes import ServedLanes
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import BowerbirdError, Busy, DiskFull, Failure
from bowerbird.flows.flow import Size
from bowerbird.model import Arrival, CrawlState

_CHUNK = 10_000
_WOKEN = "this process was silent for so long that others took over what it held; it goes on as a new worker"


ASKED_TO_STOP = Failure("stopped", "asked to stop")
_DELETE_SAMPLES = "delete from keyword_samples where crawl = ?"
_DELETE_PROBES = "update keyword_probes set found = null where crawl = ? and found is not null"


class Begun(Struct, frozen=True):
    """A crawl as a process finds it at its start."""

    is_paused: bool
    size: Size
    """What it brought before."""
    ran_before: timedelta
    trouble: str = ""
    is_stopped: bool = False
    """Somebody has asked it to stop since this process is to be seen."""


class Remark(Struct, frozen=True):
    """Something about this process that belongs into the crawl's errors."""

    part: str
    words: str
    about: str = ""
    """What is said once only."""


class Look(Struct, frozen=True):
    """What a process sees when it looks up from its work."""

    is_paused: bool
    stop: Failure | None
    """Why it has to stop; None: it goes on."""
    size: Size
    """What the crawl has brought so far, by whomever."""
    troubles: Sequence[str] = ()
    remarks: Sequence[Remark] = ()
    """What was written down of what this process had to say."""


class Life:
    """One crawl and this process's place in it."""

    def __init__(self, books: Bookkeeping, me: Enrolment, lanes: ServedLanes, targets: Targets) -> None:
        self._books = books
        self._me = me
        self._lanes = lanes
        self._targets = targets
        self._recovery = Recovery(books.log, books.ledgers, books.frontier, books.crawl)

    async def begin(self) -> Begun:
        """Says that the crawl runs, after what earlier processes left behind was put in order."""
        books, crawl, me = self._books, self._books.crawl, self._me.number()
        async with books.database.transaction() as tx:
            now = books.clock.now()
            ahead = await pull_back(tx, me, now)
            trouble = await note_pulled_back(tx, crawl, ahead, now) if ahead is not None else ""
            await books.ledgers.load(tx)
            await self._recovery.recover(tx, me, now)
            await books.frontier.revive(tx, list(self._lanes.asked), now)
            row = await registry.read_crawl(tx, crawl)
            is_paused = row.wanted == CrawlState.PAUSED
            if not is_paused:
                await registry.set_state(tx, crawl, CrawlState.RUNNING, None, now)
            ran_before = await registry.time_run(tx, row.name, me)
            wishes = await controls.read(tx, crawl, self._me.label)
        self._lanes.hold(wishes.paused_facets)
        return Begun(is_paused or wishes.is_paused, row.size, ran_before, trouble, is_stopped=row.wanted == CrawlState.STOPPED)

    async def add_seeds(self, seeds: Iterable[Arrival] | AsyncIterable[Arrival]) -> None:
        """Adds the seeds, which may be millions, in transactions of bearable size; known ones change nothing."""
        async for chunk in _chunks(seeds):
            async with self._books.database.transaction() as tx:
                await self._targets.add(tx, chunk, None, self._books.clock.now())
        self._targets.wake()

    async def look(self, remarks: Callable[[], Sequence[Remark]]) -> Look:
        """A sign of life, and what has changed: what others left behind is put in order, and controls are read.

        `remarks`: what this process has to say, asked once the database answers."""
        books, crawl = self._books, self._books.crawl
        async with books.database.transaction() as tx:
            now = books.clock.now()
            me = await self._me.renew(tx, now)
            woken = [Remark("worker", _WOKEN)] if me != self._me.number() else []
            made = remarks()
            for remark in (*woken, *made):
                await registry.note_error(tx, crawl, remark.part, None, None, remark.words, now)
            # What others have taken and given back since: a stale copy may wait for a call that has long ended.
            await books.ledgers.load(tx)
            freed = await self._recovery.recover(tx, me, now)
            row = await registry.read_crawl(tx, crawl)
            wishes = await controls.read(tx, crawl, self._me.label)
            is_outdated = await version_held(tx, crawl) != self._me.plan
            is_paused = row.wanted == CrawlState.PAUSED
            if is_paused != (row.state == CrawlState.PAUSED):
                await registry.set_state(tx, crawl, CrawlState.PAUSED if is_paused else CrawlState.RUNNING, None, now)
        if self._me.confirm(me):
            books.frontier.let_go()
        self._lanes.hold(wishes.paused_facets)
        self._targets.wake()
        is_stopped = row.wanted == CrawlState.STOPPED or wishes.is_stopped
        stop = ASKED_TO_STOP if is_stopped else OUTDATED if is_outdated else None
        return Look(is_paused or wishes.is_paused, stop, row.size, [*freed, *(each.words for each in woken)], made)

    async def note(self, part: str, words: str) -> None:
        """Writes down what befell a part of the process, unless our own database refuses."""
        with suppress(Busy, DiskFull):
            async with self._books.database.transaction() as tx:
                await registry.note_error(tx, self._books.crawl, part, None, None, words, self._books.clock.now())

    async def finish(self, state: CrawlState, reason: Failure) -> None:
        """Gives back everything and takes leave; where nobody else works on the crawl, it has ended."""
        books, me = self._books, self._me.number()
        async with books.database.transaction() as tx:
            now = books.clock.now()
            await books.frontier.release(tx, now)
            await registry.heartbeat(tx, me, now)
            await registry.end_workers(tx, [me], now)
            if not await registry.has_company(tx, me):
                await registry.set_state(tx, books.crawl, state, reason, now)
                if state == CrawlState.FINISHED:
                    # The background of an event is needed for the next decision only.
                    await tx.execute(_DELETE_SAMPLES, books.crawl)
                    await tx.execute(_DELETE_PROBES, books.crawl)

    async def fail(self, reason: Failure) -> None:
        """Says that the crawl has failed, if our own database lets us."""
        # It just refused; if it still does, the next start finds a dead worker and says the same.
        with suppress(BowerbirdError):
            async with self._books.database.transaction() as tx:
                await registry.set_state(tx, self._books.crawl, CrawlState.FAILED, reason, self._books.clock.now())


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
