"""A lane: one facet of one flow on one service, with everything a call of it needs; and how well lanes were answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.crawl.answers.long_lists import LongLists, as_ranked
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.errors import Failure
from bowerbird.model import Ask, Charge, Draw, Facet, Lease, Progress, Service, Settled, Task, Turn
from bowerbird.ports import Links, Neighbourhood, Ranker, Seeder, Sieve
from bowerbird.providers.base import Provider

FRESH = Progress()


class Lane(Struct, frozen=True, kw_only=True):
    """What a work source knows of one lane; `lane` is its number in the database."""

    lane: int
    service: Service
    provider: Provider
    facet: Facet
    ranker: Ranker
    seeder: Seeder
    weight: float = 1.0
    hints: dict[str, str] = {}
    max_pages: int | None = None
    """How many calls one listing may take; None: to its end."""
    is_polled: bool = False
    """Its targets are asked again and again, each time for what is new since the last time."""
    long_lists: LongLists | None = None
    follows_opted_out: bool = False
    links: Links | None = None
    """For a walk that sees one side of each relation only: the other side, as far as the store knows it."""
    neighbourhood: Neighbourhood | None = None
    """For a ranker of candidates: who is around them."""
    sieve: Sieve | None = None
    """Chooses what is saved of its pages; None: everything."""
    left_out: Failure | None = None
    """Why it is not asked in this run, and what to do; what is led to it waits."""

    def draws(self, is_paged: bool, now: datetime) -> Sequence[Draw]:
        """How the next call of one half of the lane is made up."""
        room = self.facet.objects_per_call
        draws = self.ranker.draws(room, now)
        return draws if self.long_lists is None else self.long_lists.draws(draws, room, is_paged=is_paged)

    def ranked(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """The tasks as their ranker knows them."""
        return tasks if self.long_lists is None else [as_ranked(task) for task in tasks]

    def placed(self, settled: Settled) -> Settled:
        """The new state of a task, where its length puts it."""
        return settled if self.long_lists is None else self.long_lists.placed(settled)

    def is_paged(self, target: str, progress: Progress = FRESH) -> bool:
        """Whether the next request for this target carries a position, which some services limit apart."""
        return self.has_paged_limits and self.provider.is_paged(Ask(self.facet.name, (target,), progress, self.hints))

    @property
    def has_paged_limits(self) -> bool:
        return any(limit.only_paged for limit in self.facet.limits)


class ServedLanes(Struct, frozen=True):
    """The lanes of a crawl by number, as this process serves them."""

    asked: dict[int, Lane]
    """Changed while the crawl runs, where a server takes no batches after all."""
    waiting: Mapping[int, Lane] = {}
    """Those that are not asked in this run: what is led to them waits there."""
    paused: set[str] = set()
    """Facets that the user holds back for now."""

    def hold(self, facets: Collection[str]) -> None:
        """Holds back these facets, and lets all others go on."""
        self.paused.clear()
        self.paused.update(facets)

    def of(self, number: int) -> Lane:
        """Where a target goes, be it to wait."""
        return self.asked.get(number) or self.waiting[number]


class GoodAnswers:
    """How often lanes and services have answered well since the start of this process: what a refusal or a silence is weighed
    against. Lost with the process."""

    def __init__(self) -> None:
        self.of_lane: Counter[int] = Counter()
        self.of_service: Counter[str] = Counter()
        self.with_credential: Counter[tuple[str, str | None]] = Counter()
        """By service and credential; an answer such as "there is no such account" counts here too."""
        self.last: dict[int, str] = {}
        """A target of each lane that was answered."""

    def add(self, lane: Lane, lease: Lease) -> None:
        """One more page that was answered as it was asked."""
        self.of_lane[lane.lane] += 1
        self.of_service[lane.service.name] += 1
        self.last[lane.lane] = lease.tasks[0].target


def add_turns(scheduler: Scheduler, lane: Lane, charges: Mapping[str | None, tuple[Charge, ...]]) -> None:
    """One turn for the whole lane, or two where requests with a position have limits of their own."""
    if not lane.has_paged_limits:
        scheduler.add(Turn(lane.lane), lane.weight, charges)
        return
    always = {name: tuple(each for each in taken if not each.limit.only_paged) for name, taken in charges.items()}
    scheduler.add(Turn(lane.lane, is_paged=False), lane.weight, charges if lane.is_paged("0") else always)
    scheduler.add(Turn(lane.lane, is_paged=True), lane.weight, charges)
