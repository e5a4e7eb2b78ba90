"""Streams and searches follow the keywords: subscriptions change, and searches are added and retired.

Searches and probes change in the transaction of the decision. Subscriptions of streams change after it; if the
process is killed in between, the next worker that reads the new version changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import UserError
from bowerbird.flows.keywords import BACKGROUND, KeywordUse
from bowerbird.keywords import rows
from bowerbird.keywords.probes import Prober
from bowerbird.keywords.setup import SEARCHES
from bowerbird.model import Arrival, Reason, Subscription, TaskState
from bowerbird.ports import Database, Frontier, KeywordProvider, Retunable, Transaction

ALL = "all"
"""The target of a public timeline."""
_TARGETS = f"select target from tasks where lane = ? and state not in ('{TaskState.RETIRED}', '{TaskState.RETIRING}')"
_LEFT = Reason("keywords", "it is no keyword any more")
_CHANGED = Reason("keywords", "the keywords have changed")


class FilteredStream(Struct, frozen=True):
    """A stream that the network filters by keywords."""

    stream: Retunable
    provider: KeywordProvider


class SearchedService(Struct, frozen=True):
    """A service without a stream: its keywords are targets of searches."""

    lanes: dict[str, int]
    """By facet."""
    provider: KeywordProvider
    public: int | None = None
    """The queue of its public timeline."""

    def places_of(self, terms: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Return by keyword the queue and target of its search, for as many keywords as the network takes."""
        places: dict[str, tuple[int, str]] = {}
        for term in terms[: self.provider.most_keywords]:
            search = self.provider.keyword_search(term)
            if search is not None and search[0] in self.lanes:
                places[term] = self.lanes[search[0]], search[1]
        return places


class Steering(Struct, frozen=True, kw_only=True):
    """Everything that follows the keywords of one crawl."""

    crawl: int
    database: Database
    frontier: Frontier
    targets: Targets
    streams: Sequence[FilteredStream]
    searched: Sequence[SearchedService]
    prober: Prober
    terms_by_target: dict[str, str]
    """For `lane target` of a search, its keyword; filters read it."""
    cap: int | None = None
    """Posts that the streams deliver at most in a frame."""

    async def follow(self, tx: Transaction, probes: Sequence[Sequence[str]], frame: datetime, now: datetime) -> None:
        """Add and retire searches and probes, in the transaction of the decision."""
        tasks = await self.prober.add(tx, self.frontier, probes, frame, now)
        tasks += await self._update_searches(tx, now)
        if tasks:
            await self.targets.add(tx, tasks, None, now)

    async def catch_up(self, now: datetime) -> None:
        """Follow the keywords in the database, wherever this was not done yet."""
        async with self.database.transaction() as tx:
            tasks = await self._update_searches(tx, now)
            if tasks:
                await self.targets.add(tx, tasks, None, now)
            terms = rows.rank_spellings(await rows.read_methods(tx, self.crawl))
        for each in self.streams:
            await each.stream.retune(subscription_for(each.provider, each.stream, terms), _CHANGED)

    async def _update_searches(self, tx: Transaction, now: datetime) -> list[Arrival]:
        """Retire the searches for terms that are no keywords any more; return the tasks to add."""
        if not self.searched:
            return []
        terms = rows.rank_keywords(await rows.read_methods(tx, self.crawl))
        tasks: list[Arrival] = []
        for service in self.searched:
            places = service.places_of(terms)
            self.terms_by_target.update({f"{lane} {target}": term for term, (lane, target) in places.items()})
            for lane in service.lanes.values():
                wanted = {target for at, target in places.values() if at == lane}
                existing = {row["target"] for row in await tx.fetch(_TARGETS, lane)}
                if left := sorted(existing - wanted):
                    await self.frontier.retire(tx, lane, left, _LEFT, now)
                tasks += [Arrival(lane=lane, target=target, depth=1) for target in sorted(wanted - existing)]
            if service.public is not None and not await tx.fetch(_TARGETS, service.public):
                tasks.append(Arrival(lane=service.public, target=ALL, depth=1))
        return tasks


def searched_services(lanes: Iterable[Lane]) -> list[SearchedService]:
    """Return the services of these queues that can be searched for keywords."""
    by_service: dict[str, list[Lane]] = {}
    for lane in lanes:
        by_service.setdefault(lane.service.name, []).append(lane)
    services = []
    for own in by_service.values():
        provider = own[0].provider
        searches = {lane.facet.name: lane.lane for lane in own if lane.facet.name in SEARCHES}
        public = next((lane.lane for lane in own if lane.facet.name == BACKGROUND), None)
        if searches and isinstance(provider, KeywordProvider):
            services.append(SearchedService(searches, provider, public))
    return services


def posts_per_frame(use: KeywordUse, streams: Iterable[FilteredStream]) -> int | None:
    """Return how many posts the streams deliver at most in a frame, by the crawl file or the network; None: no cap is known."""
    wanted = (each.provider.keyword_stream(("#event",), each.stream.wanted) for each in streams)
    caps = [each.volume for each in wanted if each is not None and each.volume is not None]
    per_minute = use.volume or (sum(caps) if caps else None)
    return None if per_minute is None else int(per_minute * (use.frame / timedelta(minutes=1)))


def subscription_for(provider: KeywordProvider, stream: Retunable, terms: Sequence[str]) -> Subscription:
    """Return the subscription of a filtered stream for these keywords, as many as the network takes."""
    wanted = provider.keyword_stream(terms[: provider.most_keywords], stream.wanted)
    if wanted is None:
        raise UserError(f"{provider.name} has no stream that can be filtered by keywords")
    return structs.replace(stream.wanted, options=wanted.stream.options)
