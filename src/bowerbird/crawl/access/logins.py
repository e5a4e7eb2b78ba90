"""Logins booked on the limits that they have of their own, apart from those of ordinary calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from bowerbird.crawl.process.patience import patiently
from bowerbird.errors import Taken
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Answer, Ask, Charge, Outcome, Page, Service
from bowerbird.ports import Clock, Database
from bowerbird.providers.base import Provider

_AGAIN = timedelta(seconds=1)
LoginCharges = Callable[[str, Provider, Service], Sequence[Charge]]
"""What one login, or one renewal of a session, takes from each bucket with a credential; nothing where it is not limited."""


def _nothing(credential: str, provider: Provider, service: Service) -> Sequence[Charge]:
    return ()


class BookedLogins:
    """Says when a login or the renewal of a session is allowed, and books it when it is over.

    It is booked only then: a process that dies in between leaves no login in flight behind, which nobody could ever settle.
    """

    def __init__(
        self, database: Database, ledgers: RateLimits, clock: Clock, charges: LoginCharges, renewals: LoginCharges = _nothing
    ) -> None:
        self._database = database
        self._ledgers = ledgers
        self._clock = clock
        self._charges = {False: charges, True: renewals}

    def when(self, credential: str, provider: Provider, service: Service, *, renews: bool = False) -> datetime:
        """The earliest time at which the next login, or renewal, may be made: now or later."""
        return self._ledgers.available_at(self._charges[renews](credential, provider, service), self._clock.now())

    async def allowed(self, credential: str, provider: Provider, service: Service, *, renews: bool) -> datetime:
        """The same, asked right before one is made."""
        return self.when(credential, provider, service, renews=renews)

    async def take(self, credential: str, provider: Provider, service: Service, *, renews: bool) -> datetime:
        """Counts a login, or renewal, that somebody else is about to make, if it is allowed: answers now, or when it will be."""
        charges, now = self._charges[renews](credential, provider, service), self._clock.now()
        if (at := self._ledgers.available_at(charges, now)) > now:
            return at
        answer = Answer(status=200, sent_at=now, received_at=now)
        try:
            async with self._database.transaction() as tx:
                await self._ledgers.settle(tx, await self._ledgers.charge(tx, charges, now), Page(), answer)
        except Taken:
            return now + _AGAIN
        return now

    async def book(
        self, credential: str, provider: Provider, service: Service, answer: Answer, *, is_open: bool, renews: bool = False
    ) -> Outcome:
        """Counts one login, or renewal, with what the service said about it; answers its outcome."""
        # Limits and refusals look the same whatever was asked.
        page = provider.parse(Ask(next(iter(provider.facets)), ("",)), answer, service)
        outcome = Outcome.OK if is_open else page.outcome
        charges = self._charges[renews](credential, provider, service)
        if charges:
            told = Page(outcome=outcome, reading=page.reading)
            counted = partial(count_made, self._database, self._ledgers, charges, told, answer)
            await patiently(counted, self._clock, lambda why, at: None)
        return outcome


async def count_made(database: Database, ledgers: RateLimits, charges: Sequence[Charge], page: Page, answer: Answer) -> None:
    """Takes from the limits what was sent without having been charged, whatever is left: the service has counted it."""
    async with database.transaction() as tx:
        taken = await ledgers.charge(tx, charges, answer.received_at, is_made=True)
        await ledgers.settle(tx, taken, page, answer)
