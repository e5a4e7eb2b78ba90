"""What servers turn out not to offer while a crawl runs: a batch goes on one by one, a lane without another way is closed.

A refusal by words (405, "not implemented") is believed at once of a route that never answered. One that did is asked again for a
while: firewalls and updates refuse in the same way. A page of HTML is not believed: a proxy sends the same. It is believed of
an object when it came several times and the lane answered about another one in between, and of a whole lane when that came for
several objects and the lane never answered at all, in no earlier process either, while its service did.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct, field, structs

from bowerbird.crawl.access.surveys import keep_refusal
from bowerbird.crawl.answers.verdict import failure_of
from bowerbird.crawl.life.not_asked import mark_lane
from bowerbird.crawl.work.bookkeeping import has_answered
from bowerbird.crawl.work.lanes import GoodAnswers, Lane
from bowerbird.errors import Failure
from bowerbird.model import EPOCH, Arrival, Gone, Lease, NotOffered, Outcome, Page, ServerInfo
from bowerbird.model.wording import quoted
from bowerbird.ports import Frontier, Transaction

LOOKS = 3
"""So many answers without a word are believed, if others were answered meanwhile."""
_MOST_LOOKS = 10_000
_CLOSED_FOR = timedelta(minutes=30)
"""A route that answered before is taken for gone when it refused for so long, and nothing else. Tasks are given up later."""


class _Look(Struct):
    """What was known when a task last got an answer without a word."""

    times: int
    answered: int
    """How often its lane had answered by then."""


class _Doubts(Struct):
    """The answers without a word of a lane that has not answered yet."""

    answering: int
    """How often its service had answered at the first of them."""
    looks: int = 0
    tasks: set[int] = field(default_factory=set)
    """Some of those asked about: as many as it takes to believe them."""


class _Refusals(Struct):
    """A route that answered before, and refuses since."""

    since: datetime
    times: int = 0


class Unsupported:
    """Watches the answers of every lane; what is remembered here is lost with the process, refusals are kept in the store."""

    def __init__(self, lanes: dict[int, Lane], frontier: Frontier, good: GoodAnswers | None = None) -> None:
        self._lanes = lanes
        self._frontier = frontier
        self._good = good or GoodAnswers()
        self._looks: dict[int, _Look] = {}
        self._unexplained: dict[int, _Doubts] = {}
        self._answered_before: set[tuple[int, int]] = set()
        """Lanes that answered an earlier process, or another one, about so many objects at once."""
        self._refusing: dict[int, _Refusals] = {}
        self.closed: dict[int, Failure] = {}
        """By lane: what the server does not offer."""

    def is_calm(self) -> bool:
        """Whether nothing is in doubt: a good answer then changes nothing here but a count."""
        return not self._looks and not self._refusing

    async def weighed(self, tx: Transaction, lane: Lane, lease: Lease, page: Page) -> Page:
        """The page with what an answer without a word means, if it can be believed by now."""
        if page.outcome is Outcome.NOT_OFFERED and await self._may_pass(tx, lane, lease):
            return structs.replace(page, outcome=Outcome.UNREADABLE)
        if page.perhaps is None or len(lease.tasks) != 1:
            return page
        if self._looks_like_no_route(lane, lease, page) and not await self._has_answered_before(tx, lane):
            return structs.replace(page, outcome=Outcome.NOT_OFFERED, perhaps=None)
        if page.perhaps is Outcome.NOT_OFFERED or not self._is_missing(lane, lease):
            return page
        gone = (Gone(lane.facet.subject, lease.tasks[0].target, page.perhaps),)
        return structs.replace(page, outcome=page.perhaps, gone=gone, perhaps=None)

    async def _may_pass(self, tx: Transaction, lane: Lane, lease: Lease) -> bool:
        """Whether a route without another way that refuses will answer again: it has before, and not long ago."""
        if _has_other_way(lane) or not (self._good.of_lane[lane.lane] or await self._has_answered_before(tx, lane, objects=1)):
            return False
        refusals = self._refusing.setdefault(lane.lane, _Refusals(lease.leased_at))
        refusals.times += 1
        tx.on_rollback(partial(self._take_back, lane.lane, refusals))
        return refusals.times < LOOKS or lease.leased_at - refusals.since < _CLOSED_FOR

    def _take_back(self, lane: int, refusals: _Refusals) -> None:
        refusals.times -= 1
        if not refusals.times and self._refusing.get(lane) is refusals:
            del self._refusing[lane]

    def _is_missing(self, lane: Lane, lease: Lease) -> bool:
        look = self._looks.get(lease.tasks[0].task)
        return look is not None and look.times + 1 >= LOOKS and self._good.of_lane[lane.lane] > look.answered

    def _looks_like_no_route(self, lane: Lane, lease: Lease, page: Page) -> bool:
        doubts = self._unexplained.get(lane.lane)
        if doubts is None or self._good.of_lane[lane.lane] or lane.facet.is_own_route:
            return False
        # One missing object says the same however often it is asked; where no object is named none is missing.
        is_nameless = page.perhaps is Outcome.NOT_OFFERED
        times = doubts.looks + 1 if is_nameless else len(doubts.tasks | {lease.tasks[0].task})
        return times >= LOOKS and self._good.of_service[lane.service.name] > doubts.answering

    async def _has_answered_before(self, tx: Transaction, lane: Lane, objects: int = 0) -> bool:
        """Looked up in the query log, once: what answered at any time is a route that the server has."""
        asked = lane.lane, objects
        if asked not in self._answered_before and await has_answered(tx, lane.service.name, lane.facet.name, objects):
            self._answered_before.add(asked)
            tx.on_rollback(partial(self._answered_before.discard, asked))
        return asked in self._answered_before

    def goes_on(self, lane: Lane, page: Page) -> bool:
        """Whether what the server does not offer is asked in another way from now on; `lane`: as it was when it asked."""
        return page.outcome is Outcome.NOT_OFFERED and lane.lane not in self.closed and _has_other_way(lane)

    async def note(self, tx: Transaction, lane: Lane, page: Page, now: datetime) -> ServerInfo | None:
        """Keeps a refusal with the service; answers what is known of it from now on."""
        if page.outcome is not Outcome.NOT_OFFERED or lane.lane in self.closed:
            return None
        learned = await keep_refusal(tx, lane.service.name, lane.facet.name, page.detail, now)
        if not self.goes_on(lane, page):
            await self._frontier.close(tx, lane.lane, failure_of(page))
            await mark_lane(tx, lane.lane, Failure(page.outcome, f"the server said: {quoted(page.detail)}"), now)
        return learned

    def witness(self, lane: Lane, lease: Lease, page: Page) -> list[Arrival]:
        """A target that was answered before, asked once more: whether the lane still answers tells what a silence means."""
        look = self._looks.get(lease.tasks[0].task)
        if page.perhaps is None or look is None or lane.lane not in self._good.last:
            return []
        has_answered = self._good.of_lane[lane.lane] > look.answered
        return [] if has_answered else [Arrival(lane=lane.lane, target=self._good.last[lane.lane])]

    def closing(self, lane: Lane, page: Page) -> Failure | None:
        """What a server turned out not to offer; None where it is asked in another way from now on."""
        if self.goes_on(lane, page):
            return None
        return Failure(page.outcome, f"{lane.service.name} does not offer {lane.facet.name} ({quoted(page.detail)})")

    def settled(self, lane: Lane, lease: Lease, page: Page, learned: ServerInfo | None) -> None:
        """Remembers how the call ended."""
        if page.perhaps is not None:
            self._doubted(lane, lease)
        else:
            for task in lease.tasks:
                self._looks.pop(task.task, None)
        if page.outcome is Outcome.OK:
            self._good.add(lane, lease)
            self._refusing.pop(lane.lane, None)
        if learned is None:
            return
        if closing := self.closing(lane, page):
            self.closed[lane.lane] = closing
        else:
            self._changed(lane, learned)

    def _doubted(self, lane: Lane, lease: Lease) -> None:
        task = lease.tasks[0].task
        before = self._looks.get(task)
        answered = self._good.of_lane[lane.lane]
        # A look counts only if somebody was answered since the one before.
        times = 1 if before is None else before.times + (answered > before.answered)
        self._looks.pop(task, None)
        self._looks[task] = _Look(times, answered)
        if len(self._looks) > _MOST_LOOKS:
            del self._looks[next(iter(self._looks))]
        doubts = self._unexplained.setdefault(lane.lane, _Doubts(self._good.of_service[lane.service.name]))
        doubts.looks += 1
        if len(doubts.tasks) < LOOKS:
            doubts.tasks.add(task)

    def _changed(self, lane: Lane, learned: ServerInfo) -> None:
        """From now on the lane asks one by one."""
        speaks = lane.provider.for_server(learned)
        facet = speaks.facets.get(lane.facet.name, lane.facet)
        self._lanes[lane.lane] = structs.replace(lane, provider=speaks, facet=facet)


def _has_other_way(lane: Lane) -> bool:
    """Whether what a batch is not taken for can be asked for one by one."""
    name, speaks = lane.facet.name, lane.provider
    if lane.facet.objects_per_call == 1:
        return False
    refused = speaks.for_server(ServerInfo(refused={name: NotOffered("", EPOCH)})).facets.get(name)
    return refused is not None and refused.objects_per_call == 1
