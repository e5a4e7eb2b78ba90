"""Runs a crawl in front of a view: shows it, hears Ctrl-C and SIGTERM, ends in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from bowerbird.app import Crawl, Outside
from bowerbird.cli.live.beat import heard_by
from bowerbird.cli.live.dump import write_dump
from bowerbird.cli.live.view import View
from bowerbird.cli.live.watcher import Watcher
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.endings import NO_SEED_FOUND, NOTHING_LEFT, Ending
from bowerbird.errors import Failure
from bowerbird.model import CrawlState, PostFate, Subject
from bowerbird.ports import Clock
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.counting.posts import read_fates
from bowerbird.reports.seeds.unknown_seeds import closed_seeds, hopeless, last_call, unknown_seeds
from bowerbird.reports.status.glimpse import Glimpse
from bowerbird.settings import service_manager

Enough = Callable[[Glimpse], str]
"""Gives a reason to end the crawl, or nothing."""

_WATCH_EVERY = timedelta(seconds=1)
_HEED_EVERY = timedelta(milliseconds=250)
_DOUBT_EVERY = timedelta(seconds=1)
_HOPELESS = "none of its seeds is there"
_INTERRUPTED = "interrupted with Ctrl-C"
_TERMINATED = "asked to end by the system (SIGTERM)"
_LANDING = "finishing what is in flight (a minute at most); Ctrl-C again leaves at once, nothing is lost either way"


class Run(Struct, frozen=True):
    """How a run ended and what the crawl looked like then."""

    ending: Ending
    last: Glimpse
    was_interrupted: bool = False
    """By Ctrl-C, as against any other reason."""
    not_found: tuple[str, ...] = ()
    """Seeds that this run did not find."""
    closed: dict[str, str] = {}
    """Seeds that are there and not shown, as this run found: suspended, protected; each with the reason."""
    left_alone: int = 0
    """Seeds that, as this run found, asked not to be collected."""
    first_left_alone: tuple[str, ...] = ()
    left_alone_in_all: int = 0
    """The same, with what earlier runs found."""
    fates: dict[PostFate, Count] = {}
    """What became of the stored posts, whoever brought them: see `reports.counting.posts.read_fates`."""
    notes: tuple[str, ...] = ()
    """What servers do not take of the crawl, or bring less of than one might expect."""


class Interrupts:
    """What the user asks by signal: the first one ends in order, the second at once."""

    def __init__(self, crawl: Crawl, watcher: Watcher, view: View, clock: Clock) -> None:
        self._crawl = crawl
        self._clock = clock
        self._watcher = watcher
        self._view = view
        self._at_once: Callable[[], object] = lambda: None
        self.is_ctrl_c = False

    @contextmanager
    def heard(self, at_once: Callable[[], object]) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        self._at_once = at_once
        loop.add_signal_handler(signal.SIGINT, self._end, _INTERRUPTED, True)
        loop.add_signal_handler(signal.SIGTERM, self._end, _TERMINATED, False)
        loop.add_signal_handler(signal.SIGQUIT, self._dump)
        try:
            yield
        finally:
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
                loop.remove_signal_handler(each)

    def _dump(self) -> None:
        """Tells what every part is doing; the crawl goes on."""
        try:
            self._view.say(f"Stacks and ledgers are in {write_dump(self._crawl, Path(), self._clock.now())}.")
        except OSError as error:
            self._view.say(f"Stacks and ledgers cannot be written here: {error.strerror}.")

    def _end(self, reason: str, is_ctrl_c: bool) -> None:
        if self._watcher.ending:
            self._at_once()
            return
        self.is_ctrl_c = is_ctrl_c
        self._watcher.ending = _LANDING
        self._crawl.process.end(reason)
        self._view.say(_LANDING[0].upper() + _LANDING[1:] + ".")


async def run_shown(crawl: Crawl, outside: Outside, view: View, *, enough: Enough | None = None) -> Run:
    """Runs the crawl to its end, shown all the while; `enough` may give a reason to end it earlier."""
    watcher, last = Watcher(crawl, outside.clock), await last_call(crawl.database)
    interrupts = Interrupts(crawl, watcher, view, outside.clock)
    work = asyncio.ensure_future(crawl.process.run(crawl.seeds, slots=crawl.plan.concurrency, watch_every=_WATCH_EVERY))
    watching = [asyncio.create_task(_show(watcher, view, outside.clock))]
    watching += [asyncio.create_task(end_in_vain(crawl, watcher, outside.clock))]
    watching += [asyncio.create_task(_heed(crawl, watcher, enough, outside.clock))] if enough else []
    try:
        async with heard_by(service_manager(), crawl.process.longest_silence, outside.clock):
            with interrupts.heard(work.cancel):
                ending = await work
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await _dismiss(watching, view)
        view.close()
    not_found = await unknown_seeds(crawl.database, crawl.plan.name, last)
    ending = await failed_by_seeds(crawl, ending)
    return Run(
        ending,
        await Watcher(crawl, outside.clock).glimpse(),
        interrupts.is_ctrl_c,
        tuple(not_found),
        await closed_seeds(crawl.database, crawl.plan.name, last),
        crawl.tally.left_alone,
        crawl.tally.first_left_alone,
        *await _stored(crawl),
        tuple(crawl.notes),
    )


async def failed_by_seeds(crawl: Crawl, ending: Ending) -> Ending:
    """A crawl that ended with nothing because none of its seeds is to be seen has failed, and says why."""
    has_given_up = ending.reason.code == NO_SEED_FOUND
    if not (has_given_up or ending.state == CrawlState.FINISHED) or crawl.tally.size().items or _is_about_posts(crawl):
        return ending
    if not (why := await hopeless(crawl.database, crawl.plan.name)):
        return ending
    is_all = has_given_up or (ending.reason.code == NOTHING_LEFT and not crawl.tally.not_offered)
    reason = Failure(NO_SEED_FOUND, why if is_all else f"{ending.reason.problem}; {why}")
    await crawl.process.abandon(reason)
    return Ending.failed(reason)


async def end_in_vain(crawl: Crawl, watcher: Watcher, clock: Clock) -> None:
    """Ends a crawl none of whose seeds is there, once nothing else is left to ask now: it would look for them for ever, and look
    healthy."""
    while crawl.plan.streams or _is_about_posts(crawl) or not await _is_vain(crawl, watcher):
        await clock.sleep_until(clock.now() + _DOUBT_EVERY)
    crawl.process.end(_HOPELESS, NO_SEED_FOUND)


async def _is_vain(crawl: Crawl, watcher: Watcher) -> bool:
    if crawl.tally.size().items or (await watcher.glimpse()).waiting:
        return False
    return bool(await hopeless(crawl.database, crawl.plan.name, for_good=True))


def _is_about_posts(crawl: Crawl) -> bool:
    """Whether its seeds are posts: that all of them are gone is then what was to be found out."""
    seeded = {lane.facet.subject for lane in crawl.lanes.values() if lane.facet.name in crawl.plan.flow.seeds}
    return seeded == {Subject.POST}


async def _stored(crawl: Crawl) -> tuple[int, dict[PostFate, Count]]:
    """How many seeds of the crawl asked not to be collected, in all, and what became of the stored posts."""
    async with crawl.database.reading() as tx:
        alone = (await registry.left_alone(tx)).get(crawl.number, 0)
        return alone, await read_fates(tx, crawl.database)


async def _show(watcher: Watcher, view: View, clock: Clock) -> None:
    while True:
        view.show(await watcher.glimpse())
        await clock.sleep_until(clock.now() + view.every)


async def _heed(crawl: Crawl, watcher: Watcher, enough: Enough, clock: Clock) -> None:
    while not (reason := enough(await watcher.glimpse())):
        await clock.sleep_until(clock.now() + _HEED_EVERY)
    crawl.process.end(reason)


async def _dismiss(watching: list[asyncio.Task[None]], view: View) -> None:
    """Ends the watching; whatever befell it (a closed pipe, a broken terminal) is no reason for the crawl to fail."""
    for task in watching:
        task.cancel()
    for outcome in await asyncio.gather(*watching, return_exceptions=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, OSError):
            view.say(f"The display ended early, the crawl did not: {type(outcome).__name__}: {outcome}")
