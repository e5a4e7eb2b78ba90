"""Runs a command: its crawl, its output beside it, and the last words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import timedelta
from itertools import islice

from msgspec import Struct, structs

from bowerbird.app import Crawl, Outside, Participation, open_crawl
from bowerbird.cli.checks.start import check_start, exists
from bowerbird.cli.checks.trials import check_tokens
from bowerbird.cli.everyday.output.emitting import Emitter, Target
from bowerbird.cli.everyday.output.progress import Progress
from bowerbird.cli.everyday.output.rows import RowMaker, shape_of
from bowerbird.cli.everyday.output.whole import WholeEmitter
from bowerbird.cli.everyday.plans import Job
from bowerbird.cli.everyday.wishes import Wish
from bowerbird.cli.live.run import Run, run_shown
from bowerbird.clock import RealClock
from bowerbird.crawl.life.extensions import Extensions
from bowerbird.crawl.process.endings import BUDGET_SPENT
from bowerbird.db import open_database
from bowerbird.db.addresses import public
from bowerbird.db.files.rewriting import rewrite_small
from bowerbird.db.tables import is_store
from bowerbird.errors import BowerbirdError
from bowerbird.export.rows.endings import whole_format
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Arrival, CrawlState
from bowerbird.ports import Clock, Database, Store, Vault
from bowerbird.reports.browsing.results import Line, ResultReader
from bowerbird.reports.crawls import NamedCrawl, named_after, read_known_services
from bowerbird.reports.status.glimpse import Glimpse
from bowerbird.settings import load_settings
from bowerbird.store.results.collecting import CollectingStore
from bowerbird.store.results.outputs import add_inputs, mean_inputs
from bowerbird.transport import HttpTransport

_EMIT_EVERY = timedelta(milliseconds=500)
_MANY = 200
"""So many results are written at once, without waiting for more."""
_SENDING = timedelta(milliseconds=2)
"""By then the next question is on its way: rows are written while the server thinks."""
_EMIT_LIVE = timedelta(milliseconds=200)
_HANDLE_WAIT = timedelta(seconds=2)
_AT_ONCE = 500
_ENDED = (CrawlState.FINISHED, CrawlState.FAILED)


class Done(Struct, frozen=True):
    """How a command ended."""

    run: Run
    rows: int
    left_out: Mapping[str, int] = {}
    """Posts that were listed and are no rows, by the reason."""
    is_enough: bool = False
    """Its reader wanted no more."""

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to go on with. What its budget ended is paid for: with more, it goes on where it stopped."""
        ending = self.run.ending
        return self.is_enough or (ending.state in _ENDED and ending.reason.code != BUDGET_SPENT)


async def run_job(job: Job, wish: Wish, vault: Vault, progress: Progress, counted: Counted) -> Done:
    """Runs a job to its end, or goes on with it; raises what the user must change first."""
    clock = RealClock()
    transport = HttpTransport(clock, load_settings().user_agent)
    # A changed budget is no other crawl: the plan of today counts.
    is_passing = _is_passing(wish)
    participation = Participation(is_alone=True, applies=True, is_passing=is_passing)
    outside = Outside(clock=clock, transport=transport, vault=vault, participation=participation)
    done: Done | None = None
    try:
        plan = structs.replace(job.plan, name=await _free_name(job, wish, clock))
        done = await _Command(structs.replace(job, plan=plan), wish, outside, progress, counted).run()
        return done
    finally:
        await transport.close()
        if is_passing and (done is None or not done.is_over):
            # It stays for a while after all: without what was deleted.
            await rewrite_small(job.plan.store, clock)


def _is_passing(wish: Wish) -> bool:
    """Whether its store goes with the command. A power cut may take the last moments of such a one, but not what was paid for."""
    return wish.store is None and wish.budget is None


class Counted:
    """How many rows there are by now, for those who show it."""

    emitter: Emitter | None = None

    def __call__(self) -> int:
        return 0 if self.emitter is None else self.emitter.position.rows


class _Command:
    """One run of one command."""

    def __init__(self, job: Job, wish: Wish, outside: Outside, progress: Progress, counted: Counted) -> None:
        self._job = job
        self._wish = wish
        self._outside = outside
        self._progress = progress
        self._counted = counted
        self._collecting: CollectingStore | None = None
        self._failure: BaseException | None = None
        self._is_over = False
        self._stirred = asyncio.Event()
        """There is something to write, or the end has come."""
        self._written_of = 0

    async def run(self) -> Done:
        plan, outside = self._job.plan, self._outside
        start = await check_start(plan, outside, {}, may_join=False, say=self._progress.say)
        agreed = await self._agreed(start.plan)
        async with open_crawl(start.plan, outside, Extensions(store=self._store), asked=start.asked) as crawl:
            for note in (*await check_tokens(crawl, outside), *start.notes, *crawl.notes):
                self._progress.say(note)
            if agreed is not None:
                await agreed(crawl.database)
            return await self._emitted(crawl)

    async def _agreed(self, plan: CrawlPlan) -> Callable[[Database], Awaitable[None]] | None:
        """Who names a budget agrees to it; gives what writes that down."""
        if self._wish.budget is None:
            return None
        # Loaded where it matters only: it brings the simulated networks along, for plans.
        from bowerbird.cli.checks.consent import check_consent, keep_consent

        wish = await check_consent(plan, self._outside, is_given=True, say=self._progress.say)
        now = self._outside.clock.now()
        return None if wish is None else lambda database: keep_consent(database, plan, wish, now)

    def _store(self, usual: Store, database: Database, crawl: int) -> Store:
        self._collecting = CollectingStore(usual, database, crawl, self._job.wanted)
        self._collecting.when_found = self._stir
        return self._collecting

    def _stir(self) -> None:
        """Wakes whoever writes rows where many wait."""
        if self._collecting is not None and self._collecting.found - self._written_of >= _MANY:
            self._stirred.set()

    async def _emitted(self, crawl: Crawl) -> Done:
        emitter = self._counted.emitter = await self._emitter(crawl)
        await emitter.open()
        try:
            run = await self._written(structs.replace(crawl, seeds=self._noted(crawl)), emitter)
        finally:
            emitter.close()
        left_out = {} if self._collecting is None else dict(self._collecting.left_out)
        done = Done(run, emitter.position.rows, left_out, emitter.is_closed_by_reader or bool(self._enough(run.last)))
        # A stream has no other end than that somebody ends it.
        if (done.is_over and done.rows) or self._job.plan.streams:
            await emitter.finish(with_raw=self._wish.raw)
        return structs.replace(done, rows=emitter.position.rows)

    async def _written(self, crawl: Crawl, emitter: Emitter) -> Run:
        """Runs the crawl with its rows written beside it, and at last those that came at the end."""
        writing = asyncio.create_task(self._write(crawl, emitter))
        try:
            enough = self._enough if self._job.plan.streams else None
            run = await run_shown(crawl, self._outside, self._progress, enough=enough)
        finally:
            # Never cancelled: between a row and the word that it is written there must be no end but that of the process.
            self._is_over = True
            self._stirred.set()
            await writing
        if self._failure is not None:
            raise self._failure
        await emitter.emit(with_raw=self._wish.raw)
        return run

    async def _emitter(self, crawl: Crawl) -> Emitter:
        async with crawl.database.reading() as tx:
            services = {each.number: (each.service.name, each.network) for each in await read_known_services(tx)}
        carried, wish = self._job.inputs.carried, self._wish
        reader = ResultReader(crawl.database, crawl.number, with_raw=wish.raw)
        shape = shape_of(self._job.asking, carried, with_raw=wish.raw)
        maker = RowMaker(self._job.asking, reader, services, carried)
        target = Target(wish.out, shape, wish.format, wish.appends)
        made = Emitter if whole_format(wish.out, wish.format) is None else WholeEmitter
        return made(crawl.database, crawl.number, reader, maker, target)

    async def _write(self, crawl: Crawl, emitter: Emitter) -> None:
        """Writes rows while they are found; what goes wrong with the output ends the crawl in order."""
        clock, every = self._outside.clock, _EMIT_LIVE if self._job.plan.streams else _EMIT_EVERY
        try:
            while not emitter.is_closed_by_reader and not self._is_over:
                self._stirred.clear()
                self._written_of = self._collecting.found if self._collecting is not None else 0
                await emitter.emit(with_raw=self._wish.raw, is_ripe=self._is_ripe if self._job.plan.streams else None)
                await clock.wait(self._stirred, clock.now() + every)
                await clock.sleep_until(clock.now() + _SENDING)
            if emitter.is_closed_by_reader:
                crawl.process.end("nobody reads the output any more")
        except (BowerbirdError, OSError) as error:
            self._failure = error
            crawl.process.end("the output cannot be written")

    def _is_ripe(self, line: Line) -> bool:
        """Whether a post that was heard has its author's handle, or has waited long enough for it."""
        post = line.post
        return post is None or bool(post["author_handle"]) or self._outside.clock.now() - post["found_at"] > _HANDLE_WAIT

    def _enough(self, glimpse: Glimpse) -> str:
        """Of a stream, whether it has brought as many as were wanted; lists end by themselves."""
        limit = self._wish.limit
        return f"{limit:,} posts reached" if self._job.plan.streams and limit is not None and self._counted() >= limit else ""

    async def _noted(self, crawl: Crawl) -> AsyncIterator[Arrival]:
        """The seeds, once it is written down which input each of them is."""
        if not self._job.inputs.carried:
            async for arrival in crawl.seeds:
                yield arrival
            return
        await self._keep_inputs(crawl)
        async with crawl.database.reading() as tx:
            numbers = {each.service.name: each.number for each in await read_known_services(tx)}
        texts = self._texts()
        held: list[tuple[str, Arrival]] = []
        async for arrival in crawl.seeds:
            held.append((next(texts, ""), arrival))
            if len(held) == _AT_ONCE:
                await _mean(crawl, numbers, held)
                for _, each in held:
                    yield each
                held = []
        await _mean(crawl, numbers, held)
        for _, each in held:
            yield each

    def _texts(self) -> Iterator[str]:
        """The inputs in the order of the seeds, as they were written."""
        spelled = self._job.spelled
        return (spelled.get(text, text) for text in self._job.plan.seeds)

    async def _keep_inputs(self, crawl: Crawl) -> None:
        rows = enumerate(self._job.inputs.rows())
        while some := list(islice(rows, _AT_ONCE)):
            async with crawl.database.transaction() as tx:
                await add_inputs(tx, crawl.number, [(number, text, columns) for number, (text, columns) in some if text])


async def _mean(crawl: Crawl, services: Mapping[str, int], held: list[tuple[str, Arrival]]) -> None:
    lanes = crawl.lanes
    meant = [(services[lanes[each.lane].service.name], each.target, text) for text, each in held if each.lane in lanes]
    async with crawl.database.transaction() as tx:
        await mean_inputs(tx, crawl.number, meant)


def _goes_on(crawl: NamedCrawl) -> bool:
    """Whether a crawl was broken off, be it by its budget."""
    return crawl.state not in _ENDED or (crawl.reason is not None and crawl.reason.code == BUDGET_SPENT)


async def _free_name(job: Job, wish: Wish, clock: Clock) -> str:
    """The name of the crawl: that of the unfinished one, or a new one where the store keeps those that have ended."""
    name, store = job.plan.name, job.plan.store
    if wish.store is None or not exists(store):
        return name
    database = await open_database(store, clock)
    try:
        if not await is_store(database, public(store)):
            return name
        async with database.reading() as tx:
            known = await named_after(tx, name)
    finally:
        await database.close()
    if not known or (_goes_on(known[-1]) and not wish.fresh):
        return known[-1].name if known else name
    return f"{name}-{len(known) + 1}"
