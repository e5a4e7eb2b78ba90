"""Which lanes have nothing left to ask with, and whether a crawl can still do what it is there for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from bowerbird.crawl.access.how_to_add import how_to_add, renew_line
from bowerbird.crawl.life.not_asked import barred, is_asked_by_others, mark_lane, takers
from bowerbird.crawl.work.lanes import GoodAnswers, Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.servers.strikes import Strikes, refusal
from bowerbird.errors import Failure
from bowerbird.model import Lease, Page
from bowerbird.ports import Transaction

REFUSED = "credential_refused"


class Blocked:
    """Watches refused credentials; what a lane loses is kept in the store until a later start asks it again."""

    def __init__(
        self, lanes: ServedLanes, scheduler: Scheduler, taken: Callable[[], Collection[str]], good: GoodAnswers | None = None
    ) -> None:
        """`taken`: the names that new credentials cannot have."""
        self._taken = taken
        self._lanes = lanes
        self._scheduler = scheduler
        self._strikes = Strikes(good)

    def is_calm(self) -> bool:
        return self._strikes.is_calm()

    def is_out(self, tx: Transaction, lane: Lane, lease: Lease, page: Page) -> bool:
        """Whether the credential of a call is to be used no more."""
        return self._strikes.is_out(tx, lane, lease, page)

    def _losing(self, lane: Lane, page: Page, credential: str | None) -> frozenset[int]:
        """The lanes that lose a refused credential: those of the service, whose word counts nowhere else, or this one alone."""
        if not self._strikes.is_of_service(lane, page, credential):
            return frozenset({lane.lane})
        return frozenset(each.lane for each in self._lanes.asked.values() if each.service.name == lane.service.name)

    async def note(self, tx: Transaction, lane: Lane, lease: Lease, page: Page, now: datetime) -> frozenset[int]:
        """Writes down which lanes have nothing left to ask with once they lose the credential of this call, unless other workers
        ask them with their own; answers all that lose it."""
        losing = self._losing(lane, page, lease.credential)
        for number in losing:
            is_bare = self._scheduler.is_bare(number, without=lease.credential)
            if is_bare and not await is_asked_by_others(tx, number, lease.call):
                advice = self._renewing(self._lanes.asked[number], lease.credential)
                await mark_lane(tx, number, Failure(page.outcome, refusal(lane, lease, page), advice), now)
        return losing

    def stuck(self) -> Failure:
        """What was refused, to whom, in which words, and what to do."""
        why = dict.fromkeys(self._strikes.words.values()) or ("no credential is left to ask with",)
        lost = ((self._lanes.asked[lane], credential) for lane, credential in self._strikes.lost.items())
        return Failure(REFUSED, "; ".join(why), "; ".join(dict.fromkeys(self._renewing(*each) for each in lost)))

    def prevented(self, closed: Mapping[int, Failure]) -> Failure | None:
        """Why this run could not do what its flow is there for; None: it could. `closed`: by lane what its server turned out
        not to offer."""
        bare = {number: self._refused(lane) for number, lane in self._lanes.asked.items() if self._scheduler.is_bare(number)}
        reasons = {number: lane.left_out for number, lane in self._lanes.waiting.items() if lane.left_out is not None}
        return barred([*self._lanes.asked.values(), *self._lanes.waiting.values()], {**bare, **reasons, **closed})

    def _refused(self, lane: Lane) -> Failure:
        why = self._strikes.words.get(lane.lane) or "no credential is left to ask it with"
        return Failure(REFUSED, why, self._renewing(lane, self._strikes.lost.get(lane.lane)))

    def _renewing(self, lane: Lane, credential: str | None) -> str:
        """What to do about a credential that is refused, or about the want of one."""
        if credential is not None:
            return f"renew it with: {renew_line(credential, lane.service.provider)}"
        return how_to_add(lane.service, takers(lane), self._taken())
