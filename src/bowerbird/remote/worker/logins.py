"""Logins of a worker without a database: counted by its coordinator too, because limits of logins are an account's, and another
worker may have the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from bowerbird.crawl.access.logins import BookedLogins, LoginCharges
from bowerbird.errors import BowerbirdError, UserError
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Due, Service
from bowerbird.ports import Clock, Database
from bowerbird.providers.base import Provider
from bowerbird.remote.wire import Login
from bowerbird.remote.worker.link import Link

_AGAIN = timedelta(seconds=5)
"""When a login is tried again for which the coordinator could not be asked."""
_MOMENT = timedelta(milliseconds=500)


class FleetLogins(BookedLogins):
    """Its own account, which hears what the services say of logins, and before each the coordinator's."""

    def __init__(
        self, link: Link, me: Callable[[], int], own: Database, clock: Clock, charges: tuple[LoginCharges, LoginCharges]
    ):
        super().__init__(own, RateLimits(), clock, *charges)
        self._link = link
        self._me = me

    async def allowed(self, credential: str, provider: Provider, service: Service, *, renews: bool) -> datetime:
        at, now = await super().allowed(credential, provider, service, renews=renews), self._clock.now()
        if at > now or not self._charges[renews](credential, provider, service):
            return at
        asked = Login(worker=self._me(), service=service.name, credential=credential, renews=renews)
        try:
            due: Due = await self._link.ask("login", asked)
        except UserError:
            # A coordinator of before has no such service: then each counts for itself.
            return at
        except BowerbirdError:
            return now + _AGAIN
        # The coordinator's clock may be a moment ahead.
        return now if due.at is None or due.at - now <= _MOMENT else due.at
