"""Times in which a service did not answer: from the first of several failures in a row to the next answer."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import Page
from bowerbird.ports import Transaction

_NOTABLE = 3
"""So many failures in a row are an outage; fewer are a mishap that a retry mends."""
_OPEN = "select outage from outages where service = ? and ended_at is null"
_BEGIN = "insert into outages (service, began_at, calls, reason) values (?, ?, ?, ?)"
_END = "update outages set ended_at = ?, calls = case when calls < ? then ? else calls end where service = ? and ended_at is null"


class _Failing(Struct):
    """Failures in a row."""

    since: datetime
    calls: int = 0
    is_written: bool = False


class Outages:
    """Watches the answers of every service. What is remembered here is lost with the process; rows left open are closed."""

    def __init__(self) -> None:
        self._failing: dict[str, _Failing] = {}
        self._is_clear: set[str] = set()
        """Services whose last answer was good, and that have no open row."""

    def is_calm(self, service: str) -> bool:
        """Whether the last answer of a service was good, and nothing of an outage is left to write down."""
        return service in self._is_clear

    async def note(self, tx: Transaction, service: str, page: Page, now: datetime) -> None:
        """Hears how one call ended; an answer after an answer costs nothing."""
        if page.outcome.is_passing:
            await self._failed(tx, service, f"{page.outcome}: {page.detail}", now)
        elif service not in self._is_clear:
            failing = self._failing.pop(service, None)
            tx.on_rollback(partial(self._take_back, service, failing, 0))
            calls = failing.calls if failing else 0
            await tx.execute(_END, to_micros(now), calls, calls, service)
            self._is_clear.add(service)

    def _take_back(self, service: str, failing: _Failing | None, calls: int) -> None:
        """What the transaction wrote did not happen, so open rows are looked for again; nor did what it counted."""
        self._is_clear.discard(service)
        if failing is None:
            return
        failing.calls -= calls
        failing.is_written = False
        if failing.calls:
            self._failing.setdefault(service, failing)
        elif self._failing.get(service) is failing:
            del self._failing[service]

    async def _failed(self, tx: Transaction, service: str, reason: str, now: datetime) -> None:
        failing = self._failing.setdefault(service, _Failing(now))
        failing.calls += 1
        tx.on_rollback(partial(self._take_back, service, failing, 1))
        self._is_clear.discard(service)
        if failing.calls < _NOTABLE or failing.is_written:
            return
        failing.is_written = True
        if await tx.fetch_one(_OPEN, service) is None:
            await tx.execute(_BEGIN, service, to_micros(failing.since), failing.calls, reason[:500])
