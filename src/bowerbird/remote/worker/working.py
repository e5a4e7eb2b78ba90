"""A worker without a database: enrols at its coordinator, makes calls with its own secrets, and does as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from bowerbird import __version__
from bowerbird.crawl.access.signing import Caller, Signer
from bowerbird.crawl.process.endings import Ending
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.process.stop_rules import StopRules
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.worker import Worker
from bowerbird.crawl.process.workers.identity import myself
from bowerbird.errors import BowerbirdError, Busy, DiskFull, Fenced
from bowerbird.flows.flow import Stop
from bowerbird.limits.rate_limits import login_charges, renewal_charges
from bowerbird.model import Answer, Due, Later, Lease, Leased, Nothing, Offer, Service
from bowerbird.ports import Clock, Database, Part, Transport, Vault
from bowerbird.providers import provider
from bowerbird.providers.base import Provider
from bowerbird.remote.wire import Beat, Enrol, Enrolled, Orders
from bowerbird.remote.worker.client import HttpWorkSource
from bowerbird.remote.worker.link import Link
from bowerbird.remote.worker.logins import FleetLogins

_AGAIN = timedelta(seconds=1)
BEAT = timedelta(seconds=2)
"""How often a worker shows a sign of life and hears what is wanted of it."""


class Hands(Struct, frozen=True, kw_only=True):
    """What a worker makes calls with."""

    clock: Clock
    vault: Vault
    transport: Callable[[str], Transport]
    """Made when it is known whom to name as the contact of the crawl."""
    own: Database
    """Empty, in memory: the account of its logins."""
    slots: int = 8
    """Calls in flight at once."""
    facets: frozenset[str] = frozenset()
    """What it asks for; empty: everything."""


class RemoteWorker:
    """One process of a fleet that has no database."""

    def __init__(self, link: Link, hands: Hands) -> None:
        self._link = link
        self._hands = hands
        self._clock = hands.clock
        self._enrolled: Enrolled | None = None
        self._worker: Worker | None = None
        self._facets: frozenset[str] = frozenset()
        self.tally = Tally(hands.clock.now())

    async def enrol(self) -> Enrolled:
        """Becomes a worker of the crawl; also again, after it was taken for dead."""
        offered = tuple(each for each in self._hands.vault.credentials())
        asked = Enrol(process=myself(), version=__version__, credentials=offered)
        enrolled: Enrolled = await self._link.ask("enrol", asked, sets_clock=True)
        self._enrolled = enrolled
        self._heed_facets(enrolled.orders)
        return enrolled

    async def run(self) -> Ending:
        """Works until it is told to stop, or `end` is called."""
        enrolled = await patiently(self.enrol, self._clock, self.tally.blocked)
        transport = self._hands.transport(enrolled.contact)
        self._worker = worker = Worker(
            PatientSource(self._link, self._clock, self.tally), self._caller(transport), self._clock, self.tally
        )
        worker.pause(self._is_held(enrolled.orders))
        beating = asyncio.create_task(self._beat(worker), name="heartbeat")
        try:
            # It never comes to an end by itself: whether anything is left is the coordinator's to say.
            fed = Part(name="coordinator", run=_nothing, feeds=lambda: True)
            return await worker.run(self._hands.slots, StopRules(Stop(), self.tally, self._clock, [fed]))
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
            await self._leave()
            await transport.close()

    def end(self, reason: str) -> None:
        """Asks for an orderly end: what is in flight comes home first."""
        if self._worker is not None:
            self._worker.end(Ending.stopped(reason))

    def number(self) -> int:
        return self._enrolled.worker if self._enrolled is not None else 0

    async def _beat(self, worker: Worker) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now() + BEAT)
            try:
                orders = await self._orders()
            except (Busy, DiskFull) as error:
                self.tally.blocked(str(error), self._clock.now())
                continue
            except BowerbirdError as error:
                worker.end(Ending.failed(error.failure))
                return
            self._heed_facets(orders)
            worker.pause(self._is_held(orders))
            if orders.stop:
                worker.end(Ending.stopped(orders.stop))

    async def _orders(self) -> Orders:
        try:
            orders: Orders = await self._link.ask("heartbeat", Beat(worker=self.number()), sets_clock=True)
        except Fenced as fenced:
            self.tally.blocked(str(fenced), self._clock.now())
            orders = (await self.enrol()).orders
        return orders

    def _heed_facets(self, orders: Orders) -> None:
        own = self._hands.facets
        self._facets = orders.facets & own if own else orders.facets

    def _is_held(self, orders: Orders) -> bool:
        # Without facets there is nothing to ask for yet: its crawl is being opened.
        return orders.is_paused or not self._facets

    async def _leave(self) -> None:
        with suppress(BowerbirdError):
            await self._link.ask("leave", Beat(worker=self.number()))

    def _caller(self, transport: Transport) -> RemoteCaller:
        hands, vault = self._hands, self._hands.vault
        charges = partial(login_charges, vault), partial(renewal_charges, vault)
        logins = FleetLogins(self._link, self.number, hands.own, hands.clock, charges)
        signer = Signer(vault, transport, hands.clock, logins)
        return RemoteCaller(signer, Speakers(hands.clock.now), lambda: self._facets, self.number)


async def _nothing() -> None:
    """A part that has nothing to run."""


class PatientSource(HttpWorkSource):
    """The same for a worker that waits for its coordinator as long as it takes, and meanwhile heeds whoever wants it to end."""

    def __init__(self, link: Link, clock: Clock, tally: Tally) -> None:
        super().__init__(link)
        self._clock = clock
        self._tally = tally

    async def lease(self, offer: Offer) -> Leased | Later | Nothing:
        try:
            return await super().lease(offer)
        except (Busy, DiskFull) as error:
            return Later(self._in_a_moment(error))

    async def wake(self) -> Due:
        try:
            return await super().wake()
        except (Busy, DiskFull) as error:
            return Due(self._in_a_moment(error))

    def _in_a_moment(self, error: Exception) -> datetime:
        self._tally.blocked(str(error), self._clock.now())
        return self._clock.now() + _AGAIN


class Speakers(Mapping[str, Provider]):
    """Who signs for a service, made when a lease first names it."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._known: dict[str, Provider] = {}

    def learn(self, service: Service) -> None:
        if service.name not in self._known:
            self._known[service.name] = provider(service.provider, now=self._now, base=service.base)

    def __getitem__(self, name: str) -> Provider:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class RemoteCaller(Caller):
    """Makes calls to services that it hears of with each lease."""

    def __init__(self, signer: Signer, speakers: Speakers, facets: Callable[[], frozenset[str]], me: Callable[[], int]) -> None:
        super().__init__(signer, speakers, frozenset(), me)
        self._speakers = speakers
        self._asks = facets

    def offer(self, room: int) -> Offer:
        return Offer(worker=self._me(), room=room, credentials=self._credentials, facets=self._asks())

    async def call(self, lease: Lease) -> Answer | Later:
        if lease.credential is not None:
            self._speakers.learn(lease.service)
        return await super().call(lease)
