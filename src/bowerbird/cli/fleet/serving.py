"""Serves a crawl to workers without a database, until it has ended or the coordinator is told to."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct, structs

from bowerbird.app import Crawl, Outside, open_crawl, open_store
from bowerbird.cli.dashboards.coordinated import FleetAndPages, Shown
from bowerbird.cli.fleet.working import Ended
from bowerbird.cli.live.beat import heard_by
from bowerbird.cli.live.view import View
from bowerbird.cli.live.watcher import Earlier, Watcher
from bowerbird.crawl.access.logins import BookedLogins
from bowerbird.crawl.life.plan_versions import OUTDATED
from bowerbird.crawl.process.endings import Ending
from bowerbird.crawl.process.restarts import AWAY
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.errors import Busy, CredentialError, DiskFull, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.limits.credentials import CombinedVault
from bowerbird.limits.rate_limits import login_charges, renewal_charges
from bowerbird.remote.bodies import Sizes
from bowerbird.remote.coordinator import Opened
from bowerbird.remote.desk import Desk
from bowerbird.remote.roster import Roster
from bowerbird.remote.tokens import TokenCheck
from bowerbird.remote.wire import Login
from bowerbird.remote.worker.working import BEAT
from bowerbird.settings import service_manager
from bowerbird.transport.serving import Listening, needed_for_web, serving
from bowerbird.web.wanted import Wanted

_LOOK_EVERY = timedelta(seconds=1)
_HOMECOMING = timedelta(seconds=20)
"""How long calls that are out may take to come home, before the coordinator ends or begins anew."""
_HEARD = 3 * BEAT
"""After so long every worker has heard that the crawl is over."""
_NEW_KEYS = "a worker brought new credentials"
_NOBODY = "waiting for workers: `bowerbird worker --coordinator` starts one"
_LANDING = "Waiting for the calls that are out (20 s at most); once more ends at once, nothing is lost either way."
_SIGNALS = {signal.SIGINT: "interrupted with Ctrl-C", signal.SIGTERM: "asked to end by the system (SIGTERM)"}


class Service(Struct, frozen=True, kw_only=True):
    """How a crawl is served."""

    outside: Outside
    where: Listening
    view: View
    sizes: Sizes = Sizes()
    plan: Callable[[], Awaitable[CrawlPlan]]
    """The plan that holds, read anew each time the crawl is opened."""
    shown: Shown | None = None
    """Whether there is a dashboard on the same port, and how."""


async def serve_crawl(service: Service) -> Ended:
    """Serves until the crawl has ended, with the reason; what is out comes home before."""
    starlette = needed_for_web("starlette.applications")
    from bowerbird.remote.routes import fleet_routes

    clock, plan = service.outside.clock, await service.plan()
    async with open_store(plan.store, clock) as database:
        desk = Desk(Roster(database, clock, plan.name), clock, plan.contact)
        if service.outside.participation.makes_calls:
            # What a worker brings under one of these names must be the same.
            desk.credentials.update({each.name: each for each in service.outside.vault.credentials()})
        fleet = starlette.Starlette(routes=fleet_routes(desk, TokenCheck(database, clock), clock, service.sizes))
        app = FleetAndPages(fleet, service.view.say)
        async with _shown(service, app, plan.store), serving(app, service.where) as base:
            service.view.say(f"Serving the crawl {plan.name} at {base} (end with Ctrl-C).")
            telling = asyncio.create_task(app.tell(base, opens=service.shown is not None and service.shown.opens))
            try:
                return await _Sitting(service, desk, plan).run()
            finally:
                telling.cancel()


@asynccontextmanager
async def _shown(service: Service, app: FleetAndPages, store: str) -> AsyncIterator[None]:
    """With the dashboard, if one is wanted."""
    if service.shown is None:
        yield
        return
    wanted = Wanted(store=store, where=service.where, names=service.shown.names)
    async with app.opened(wanted, service.outside.clock, service.outside.vault):
        yield


class _Sitting:
    """One run of a coordinator: its crawl, opened as often as it must be."""

    def __init__(self, service: Service, desk: Desk, plan: CrawlPlan) -> None:
        self._service = service
        self._desk = desk
        self._plan = plan
        self._clock = service.outside.clock
        self._earlier = Earlier(self._clock.now())
        self._asked_to_end = asyncio.Event()
        self._why = ""

    async def run(self) -> Ended:
        with self._signals():
            ending = await self._opened_again_and_again()
        return Ended(ending, self._why == _SIGNALS[signal.SIGINT])

    async def _opened_again_and_again(self) -> Ending:
        is_continued, failures = False, 0
        while True:
            self._desk.has_new.clear()
            offered = tuple(self._desk.credentials.values())
            how = structs.replace(self._service.outside.participation, offered=offered, is_continued=is_continued)
            outside = structs.replace(self._service.outside, participation=how)
            try:
                async with open_crawl(self._plan, outside) as crawl, self._at_the_desk(crawl):
                    failures = 0
                    ending = await self._run(crawl, outside)
                    if is_over := not (self._why or self._desk.has_new.is_set() or ending.reason.code == OUTDATED.code):
                        await self._dismiss(ending)
            except (Busy, DiskFull) as error:
                # Calls that were out come back when their leases end, or when their workers are known again.
                self._service.view.say(f"{error} The crawl is opened anew in a moment.")
                failures += 1
                await self._until(self._asked_to_end.is_set, AWAY.wait(failures))
                if self._why:
                    return Ending.stopped(self._why)
                is_continued = True
                continue
            except CredentialError as error:
                if not await self._has_new_keys(error):
                    return Ending.stopped(self._why)
                continue
            is_continued = True
            if is_over or self._why:
                return ending
            self._plan = await self._service.plan()

    async def _dismiss(self, ending: Ending) -> None:
        """Tells the whole fleet that it is over; after a signal workers wait for the next coordinator instead."""
        self._desk.coordinator.is_closing = True
        self._desk.over = (
            f"the crawl has {ending.state}: {ending.reason}" if str(ending.reason) else f"the crawl has {ending.state}"
        )
        await self._until(lambda: not self._desk.workers, _HEARD)
        await self._desk.dismiss()

    async def _has_new_keys(self, error: CredentialError) -> bool:
        """Waits for a worker that has what the crawl cannot do without; False: the user wants no more."""
        self._service.view.say(f"Waiting for a worker with a credential: {error}.")
        waits = [asyncio.create_task(event.wait()) for event in (self._desk.has_new, self._asked_to_end)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        return self._desk.has_new.is_set() and not self._why

    @asynccontextmanager
    async def _at_the_desk(self, crawl: Crawl) -> AsyncIterator[None]:
        facets = frozenset(lane.facet.name for lane in crawl.lanes.values())
        self._desk.coordinator.is_closing = False
        self._desk.open(
            Opened(
                source=crawl.dispatch.source,
                worker=crawl.dispatch.me.number(),
                facets=facets,
                held_until=partial(self._held_until, crawl.dispatch.rules),
                settled=lambda report: crawl.tally.settled(report, self._clock.now()),
                login=partial(_counted_login, crawl, self._logins(crawl)),
            )
        )
        for note in crawl.notes:
            self._service.view.say(note)
        watches = [asyncio.create_task(each) for each in (self._look(), self._show(crawl), self._end_in_order(crawl))]
        try:
            yield
        finally:
            for each in watches:
                each.cancel()
            await asyncio.gather(*watches, return_exceptions=True)
            self._desk.close()
            # The screen tells of the run, however often the crawl is opened in it.
            self._earlier = self._earlier.and_now(crawl.tally)

    def _logins(self, crawl: Crawl) -> BookedLogins:
        """The account of logins that workers make, in the database as that of everybody else."""
        outside = self._service.outside
        vault = CombinedVault(
            outside.vault if outside.participation.makes_calls else None, tuple(self._desk.credentials.values())
        )
        charges = partial(login_charges, vault), partial(renewal_charges, vault)
        return BookedLogins(crawl.database, crawl.ledgers, self._clock, *charges)

    def _held_until(self, rules: StopRules, in_flight: int) -> datetime | None:
        """When the crawl's rules let the next call go; where they say that it is enough, its own process is about to end."""
        return self._clock.now() + _LOOK_EVERY if rules.enough(in_flight) else rules.held_until(in_flight)

    async def _run(self, crawl: Crawl, outside: Outside) -> Ending:
        async with heard_by(service_manager(), crawl.process.longest_silence, outside.clock):
            return await crawl.process.run(crawl.seeds, slots=crawl.plan.concurrency, watch_every=_LOOK_EVERY)

    async def _end_in_order(self, crawl: Crawl) -> None:
        """Lets what is out come home, then ends the process: on a signal, or to begin anew with more credentials."""
        waits = [asyncio.create_task(event.wait()) for event in (self._desk.has_new, self._asked_to_end)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        self._desk.coordinator.is_closing = True
        await self._until(lambda: not self._desk.coordinator.in_flight, _HOMECOMING)
        crawl.process.end(self._why or _NEW_KEYS)

    async def _look(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now() + _LOOK_EVERY)
            # What the database refuses now it is asked again in a second.
            with suppress(Busy, DiskFull):
                await self._desk.look()

    async def _show(self, crawl: Crawl) -> None:
        watcher, view = Watcher(crawl, self._clock, self._earlier), self._service.view
        while True:
            watcher.lacks = "" if self._desk.workers or self._service.outside.participation.makes_calls else _NOBODY
            with suppress(Busy, DiskFull):
                view.show(await watcher.glimpse())
            await self._clock.sleep_until(self._clock.now() + view.every)

    async def _until(self, is_done: Callable[[], bool], most: timedelta) -> None:
        give_up = self._clock.now() + most
        while not is_done() and self._clock.now() < give_up:
            await self._clock.sleep_until(self._clock.now() + timedelta(milliseconds=100))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        for number, words in _SIGNALS.items():
            loop.add_signal_handler(number, self._end, words, task)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _end(self, words: str, task: asyncio.Task[object] | None) -> None:
        if self._why and task is not None:
            task.cancel()
            return
        self._why = words
        self._asked_to_end.set()
        self._service.view.say(_LANDING)


async def _counted_login(crawl: Crawl, logins: BookedLogins, asked: Login) -> datetime:
    """When the login may be made; one that may be now is counted."""
    lane = next((each for each in crawl.lanes.values() if each.service.name == asked.service), None)
    if lane is None:
        raise UserError(f"this crawl asks nothing of {asked.service[:200]!r}")
    return await logins.take(asked.credential, lane.provider, lane.service, renews=asked.renews)
