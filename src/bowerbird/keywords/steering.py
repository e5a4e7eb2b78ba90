"""Streams and searches follow the keywords: subscriptions change, and searches are added and retired.

Searches and probes change in the transaction of the decision. Subscriptions of streams change after it; if the
process is killed in between, the next worker that reads the new version changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain, zip_longest

from msgspec import Struct

from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import UserError
from bowerbird.flows.keywords import KeywordUse
from bowerbird.keywords import rows
from bowerbird.keywords.probes import Searches, replace_probes
from bowerbird.keywords.setup import SEARCHES, EventCrawl, subscription_for
from bowerbird.model import Arrival, Reason, TaskState
from bowerbird.ports import Retunable, Transaction
from bowerbird.providers.base import Provider

_TARGETS = f"select target from tasks where lane = ? and state not in ('{TaskState.RETIRED}', '{TaskState.RETIRING}')"
_LEFT = Reason("keywords", "it is no keyword any more")
_CHANGED = Reason("keywords", "the keywords have changed")
FilteredStream = tuple[Retunable, Provider]
"""A stream that the network filters by keywords."""


class Steering(Struct, frozen=True, kw_only=True):
    """Everything that follows the keywords of one crawl."""

    event: EventCrawl
    targets: Targets
    streams: Sequence[FilteredStream] = ()
    searches: Sequence[Searches] = ()
    """Of services without a stream: the keywords are their targets."""
    timelines: Sequence[int] = ()
    """The queues of their public timelines."""
    probes: Sequence[Searches] = ()
    """The queues for probes, the preferred service first."""
    most_probes: int = 0

    async def follow(self, tx: Transaction, probes: Sequence[Sequence[str]], now: datetime) -> None:
        """Add and retire searches and probes, in the transaction of the decision.

        `probes`: terms of each method, the most useful first; the methods take turns."""
        places: dict[str, tuple[int, str]] = {}
        for term in filter(None, chain.from_iterable(zip_longest(*probes))):
            place = next(filter(None, (searches.place_of(term) for searches in self.probes)), None)
            if place is not None and len(places) < self.most_probes:
                places.setdefault(term, place)
        tasks = await replace_probes(tx, self.targets.frontier, self.event.crawl, places, now)
        await self.targets.add(tx, tasks + await self._update_searches(tx, now), None, now)

    async def catch_up(self, now: datetime) -> list[str]:
        """Follow the keywords in the database, wherever this was not done yet; return why streams stay as they are."""
        async with self.event.database.transaction() as tx:
            await self.targets.add(tx, await self._update_searches(tx, now), None, now)
            terms = rows.rank_spellings(await rows.read_methods(tx, self.event.crawl))
        problems = []
        for stream, provider in self.streams:
            try:
                await stream.retune(subscription_for(provider, stream.wanted, terms), _CHANGED)
            except UserError as error:
                problems.append(f"The stream keeps its earlier keywords: {error}")
        return problems

    async def _update_searches(self, tx: Transaction, now: datetime) -> list[Arrival]:
        """Retire the searches for terms that are no keywords any more; return the tasks to add."""
        # A public timeline has a single target.
        tasks = [Arrival(lane=lane, target="all", depth=1) for lane in self.timelines if not await tx.fetch(_TARGETS, lane)]
        terms = rows.rank_keywords(await rows.read_methods(tx, self.event.crawl)) if self.searches else []
        for searches in self.searches:
            places = {term: searches.place_of(term) for term in terms[: searches.provider.most_keywords]}
            terms_by_place = {place: term for term, place in places.items() if place is not None}
            self.event.terms_by_place.update(terms_by_place)
            for lane in searches.lanes.values():
                wanted = {target for at, target in terms_by_place if at == lane}
                existing = {row["target"] for row in await tx.fetch(_TARGETS, lane)}
                if left := sorted(existing - wanted):
                    await self.targets.frontier.retire(tx, lane, left, _LEFT, now)
                tasks += [Arrival(lane=lane, target=target, depth=1) for target in sorted(wanted - existing)]
        return tasks


def searches_of(lanes: Iterable[Lane]) -> list[Searches]:
    """Return the queues of each service that can be searched for keywords."""
    by_service: dict[str, Searches] = {}
    for lane in lanes:
        if lane.facet.name in SEARCHES and lane.provider.keyword_ways:
            searches = by_service.setdefault(lane.service.name, Searches({}, lane.provider))
            searches.lanes[lane.facet.name] = lane.lane
    return list(by_service.values())


def posts_per_frame(use: KeywordUse, streams: Iterable[FilteredStream]) -> int | None:
    """Return how many posts the streams deliver at most in a frame, by the crawl file or the network; None: no cap is known."""
    wanted = (provider.keyword_stream(("#event",), stream.wanted) for stream, provider in streams)
    caps = [each.volume for each in wanted if each is not None and each.volume is not None]
    per_minute = use.volume or (sum(caps) if caps else None)
    return None if per_minute is None else int(per_minute * (use.frame / timedelta(minutes=1)))
