"""Runs a module when it is due, in one worker of the crawl: the one that has the claim to it."""

from __future__ import annotations

import asyncio
from asyncio import create_task
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.errors import Busy, DiskFull, Fenced, UserError
from bowerbird.flows.modules import ModuleUse
from bowerbird.model import Backoff, Claim, CrawlState
from bowerbird.model.modules import Counts
from bowerbird.modules.running import rows
from bowerbird.modules.running.context import HOLD, RunContext, Surroundings
from bowerbird.ports import Module, Part

RETRY = Backoff(timedelta(minutes=1), timedelta(hours=1))
"""How long a module that failed waits; never longer than it would have waited anyway."""
_GLANCE = timedelta(seconds=30)
"""How often a worker looks whether the one that runs a module is through with it, or dead."""
_MOMENT = timedelta(seconds=1)
_LAST_WORDS = 120.0
"""Seconds that a module may take when the crawl has ended."""
_NOTE = "insert into errors (at, crawl, part, message) values (?, ?, ?, ?)"
_LONGEST_NOTE = 500


class Ran(Struct, frozen=True):
    """What came of one run."""

    counts: Counts
    error: str | None
    took: timedelta


class Runner:
    """One module of one crawl in one process."""

    def __init__(self, module: Module, use: ModuleUse, around: Surroundings, progress: Callable[[], int] = lambda: 0) -> None:
        """`progress`: how much the crawl has done so far; a module that asks something is run once more when that ends."""
        self._module = module
        self._use = use
        self._around = around
        self._progress = progress
        self._every = use.every or module.every
        self._stirred = asyncio.Event()
        self._is_ending = False
        self._is_paused = False
        self._seen = -1
        """What the crawl had done when this module last began to look."""
        self._is_wanted = False
        """The crawl has nothing left to ask but what this module may find."""

    @property
    def claim(self) -> str:
        return f"module {self._module.name} of crawl {self._around.crawl}"

    def part(self) -> Part:
        return Part(
            name=f"module {self._module.name}",
            run=self.run,
            end=self._end,
            pause=self._pause,
            listens=self._listens if self._module.needs or getattr(self._module, "finds", False) else None,
            ended=self._ended if getattr(self._module, "hears_end", False) else None,
        )

    def _end(self) -> None:
        self._is_ending = True
        self._stirred.set()

    def _pause(self, is_paused: bool) -> None:
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            self._stirred.set()

    def _listens(self) -> bool:
        """Asked when nothing is left to ask: the crawl goes on until the module has looked at all that it brought."""
        self._is_wanted = self._seen != self._progress()
        if self._is_wanted:
            self._stirred.set()
        return self._is_wanted

    async def run(self) -> None:
        """Runs the module again and again until the process ends; nothing that befalls a run ends it."""
        await self._enrol()
        while not self._is_ending:
            self._stirred.clear()
            later = await self._look()
            await self._around.clock.wait(self._stirred, later)

    async def _enrol(self) -> None:
        now = self._around.clock.now()
        async with self._around.database.transaction() as tx:
            await rows.enrol(tx, self._around.crawl, self._module.name, now + self._every, now)

    async def _look(self) -> datetime:
        """Runs the module if it is due and ours; answers when to look again."""
        now = self._around.clock.now()
        if self._is_paused:
            return now + self._every
        async with self._around.database.reading() as tx:
            schedule = await rows.read_schedule(tx, self._around.crawl, self._module.name)
        due = now if schedule is None else schedule.due
        is_wanted, self._is_wanted = self._is_wanted, False
        if due > now and not is_wanted:
            return due
        claim = await self._taken(is_due=not is_wanted)
        if isinstance(claim, datetime):
            return claim
        await self.ran(claim)
        return self._around.clock.now()

    async def _taken(self, *, is_due: bool = False) -> Claim | datetime:
        """The claim, or when to ask again. `is_due`: only if the module still is when the claim is ours."""
        now, claims = self._around.clock.now(), self._around.claims
        async with self._around.database.transaction() as tx:
            claim = await claims.take(tx, self.claim, now + HOLD, now)
            if isinstance(claim, datetime):
                return now + _GLANCE
            # While we waited for the claim its last owner may have run it.
            schedule = await rows.read_schedule(tx, self._around.crawl, self._module.name)
            if is_due and schedule is not None and schedule.due > now:
                await claims.release(tx, claim)
                return schedule.due
        return claim

    async def by_hand(self) -> Ran:
        """Runs it now, whether it is due or not; raises `UserError` while somebody else does."""
        await self._enrol()
        claim = await self._taken()
        if isinstance(claim, datetime):
            raise UserError(
                f"the module {self._module.name} is being run just now by another process",
                "try again in a moment",
                code="already_running",
            )
        return await self.ran(claim, is_by_hand=True)

    async def ran(self, claim: Claim, *, is_by_hand: bool = False) -> Ran:
        """One run from its first row to its last; what goes wrong is written down, and tried again later."""
        around, name, self._seen = self._around, self._module.name, self._progress()
        began = around.clock.now()
        async with around.database.transaction() as tx:
            run = await rows.begin_run(tx, around.crawl, name, around.worker(), began, is_by_hand=is_by_hand)
            schedule = await rows.read_schedule(tx, around.crawl, name)
        memory = {} if schedule is None else schedule.memory
        counts, error = await self._work(RunContext(around, self._module, self._use.options, claim, memory), claim)
        now = around.clock.now()
        failures = (schedule.failures if schedule is not None else 0) + 1 if error else 0
        due = now + min(RETRY.wait(failures), self._every) if error else began + self._every
        async with around.database.transaction() as tx:
            # Only now, and in the transaction that ends the run: until then nobody else begins one.
            is_ours = await around.claims.release(tx, claim)
            await rows.end_run(tx, run, counts, error if is_ours else error or "another worker took it over", now)
            if is_ours:
                await rows.set_next(tx, around.crawl, name, max(due, now), failures)
            if error:
                await tx.execute(_NOTE, to_micros(now), around.crawl, f"module {name}", error[:_LONGEST_NOTE])
        return Ran(counts, error, now - began)

    async def _work(self, context: RunContext, claim: Claim) -> tuple[Counts, str | None]:
        keeping = create_task(self._keep(claim))
        try:
            return _storable(await self._module.run(context)), None
        except (Fenced, Busy, DiskFull, UserError) as error:
            return {}, _words(str(error))
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            # Something that it waited for was broken off, and not the run.
            return {}, _words(f"{type(error).__name__}: {error}")
        except (Exception, SystemExit) as error:
            # Whatever it is, a module never ends the crawl.
            return {}, _words(f"{type(error).__name__}: {error}")
        finally:
            keeping.cancel()

    async def _keep(self, claim: Claim) -> None:
        """Renews the claim again and again while the module runs."""
        around = self._around
        with suppress(Fenced):
            while True:
                await around.clock.sleep_until(around.clock.now() + HOLD / 3)
                # What is busy now is asked again long before the claim runs out.
                with suppress(Busy, DiskFull):
                    async with around.database.transaction() as tx:
                        await around.claims.renew(tx, claim, around.clock.now() + HOLD)

    async def _ended(self, state: CrawlState, reason: str) -> None:
        """Lets a module that wishes it know how the crawl ended: it runs once more, with that in its memory."""
        # The crawl is over, and does not wait for ever for who has something to say about that.
        with suppress(TimeoutError, Fenced):
            async with asyncio.timeout(_LAST_WORDS):
                claim = await self._waited_for()
                await self._note_end(claim, [state.value, reason])
                await self.ran(claim)

    async def _waited_for(self) -> Claim:
        """The claim, when whoever runs the module now is through with it."""
        while isinstance(claim := await self._taken(), datetime):
            await self._around.clock.sleep_until(self._around.clock.now() + _MOMENT)
        return claim

    async def _note_end(self, claim: Claim, ending: list[str]) -> None:
        """Under the claim: a run that is under way elsewhere would write its own memory over it."""
        around, name = self._around, self._module.name
        async with around.database.transaction() as tx:
            await around.claims.renew(tx, claim, around.clock.now() + HOLD)
            schedule = await rows.read_schedule(tx, around.crawl, name)
            await rows.remember(tx, around.crawl, name, ({} if schedule is None else schedule.memory) | {"ended": ending})


def _storable(counts: Counts) -> Counts:
    """What a run counted, if it can be written down; raises `TypeError` where it cannot."""
    if not isinstance(counts, Mapping):
        raise TypeError(f"a run must return counts by name, not {type(counts).__name__}")
    msgspec.json.encode(counts)
    return counts


def _words(error: str) -> str:
    """An error as both databases take it."""
    return error.replace("\0", "").encode(errors="replace").decode()
