"""What answers tell about servers and credentials, beyond what they bring: who is refused, what is not offered, who is down.

The three that watch remember things in memory. What they change there for one answer comes after its commit or is taken back
with it, so that a settle can be tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from bowerbird.crawl.life import registry
from bowerbird.crawl.work.lanes import GoodAnswers, Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.servers.blocked import Blocked
from bowerbird.crawl.work.servers.outages import Outages
from bowerbird.crawl.work.servers.unsupported import Unsupported
from bowerbird.errors import Failure
from bowerbird.model import Arrival, Lease, Outcome, Page
from bowerbird.ports import Frontier, Transaction


class Weighed(Struct, frozen=True):
    """A page, and what its answer says of the credential it was asked with."""

    page: Page
    has_expired: bool = False
    """The session has only run out: the next call opens a new one."""
    is_refused: bool = False
    """The credential is refused, not for the first time: it is used no more where it was."""
    goes_on: bool = False
    """What the server does not offer is asked in another way from now on."""
    witness: Sequence[Arrival] = ()
    """A target to ask once more, whose answer tells what this silence means."""
    is_ordinary: bool = False
    """A good answer of a service of which nothing is in doubt."""


class ServerWatch:
    """Weighs every answer of a crawl against those before it."""

    def __init__(
        self, lanes: ServedLanes, scheduler: Scheduler, frontier: Frontier, names: Callable[[], Collection[str]]
    ) -> None:
        """`names`: of credentials that there are already, which a new one cannot have."""
        self._scheduler = scheduler
        self._good = GoodAnswers()
        self._outages = Outages()
        self._unsupported = Unsupported(lanes.asked, frontier, self._good)
        self._blocked = Blocked(lanes, scheduler, names, self._good)
        self._calm: set[str] = set()
        """Services of which nothing is in doubt: of a good answer only a count is kept."""

    @property
    def closed(self) -> Collection[int]:
        """The lanes that their servers turned out not to offer."""
        return self._unsupported.closed.keys()

    def stuck(self) -> Failure | None:
        """Why what waits cannot be asked: no credential is left to ask with. None: it can be, or nothing waits."""
        return self._blocked.stuck() if self._scheduler.is_stuck() else None

    def prevented(self) -> Failure | None:
        """Why this run could not do what its flow is there for; None: it could."""
        return self._blocked.prevented(self._unsupported.closed)

    async def weigh(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, *, has_expired: bool) -> Weighed:
        """The page as it is to be understood after those before it; `has_expired`: a refused session may only have run out."""
        service = lane.service.name
        if page.outcome is Outcome.OK and page.perhaps is None and service in self._calm:
            return Weighed(page, is_ordinary=True)
        self._calm.discard(service)
        page = await self._unsupported.weighed(tx, lane, lease, page)
        has_expired = has_expired and page.outcome is Outcome.BAD_TOKEN
        return Weighed(
            page,
            has_expired=has_expired,
            is_refused=not has_expired and self._blocked.is_out(tx, lane, lease, page),
            goes_on=self._unsupported.goes_on(lane, page),
            witness=self._unsupported.witness(lane, lease, page),
        )

    async def note(self, tx: Transaction, lane: Lane, lease: Lease, weighed: Weighed, now: datetime) -> Failure | None:
        """Writes down what the answer tells of its server and credential; the reason where that closes the lane."""
        page = weighed.page
        if weighed.is_ordinary:
            tx.after_commit(partial(self._was_ordinary, lane, lease))
            return None
        await self._outages.note(tx, lane.service.name, page, now)
        learned = await self._unsupported.note(tx, lane, page, now)
        closes = self._unsupported.closing(lane, page) if learned is not None else None
        if closes is not None:
            tx.after_commit(partial(self._scheduler.close, lane.lane))
        tx.after_commit(partial(self._unsupported.settled, lane, lease, page, learned))
        tx.after_commit(partial(self._look_around, lane.service.name))
        if weighed.is_refused:
            await self._refuse(tx, lane, lease, page, now)
        return closes

    def _was_ordinary(self, lane: Lane, lease: Lease) -> None:
        self._good.add(lane, lease)
        self._good.with_credential[lane.service.name, lease.credential] += 1

    def _look_around(self, service: str) -> None:
        """Whether the next good answer of this service needs no weighing."""
        if self._outages.is_calm(service) and self._unsupported.is_calm() and self._blocked.is_calm():
            self._calm.add(service)

    async def _refuse(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, now: datetime) -> None:
        losing = await self._blocked.note(tx, lane, lease, page, now)
        tx.after_commit(partial(self._scheduler.refuse, losing, lease.credential))
        if page.outcome is Outcome.BAD_TOKEN and lease.credential is not None:
            await registry.refuse_credential(tx, lane.service.name, lease.credential, page.detail, now)
