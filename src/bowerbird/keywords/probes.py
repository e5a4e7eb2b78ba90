"""Probes: searches for one candidate alone, which show how it is used beyond the posts of the keywords.

A probe is an ordinary task on a queue of its own. It reads one page, and keeps its posts, as terms without
names, until the next decision. Probes that were not made before the next decision are cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.flows.keywords import KeywordUse
from bowerbird.keywords.filters import KeywordFilter, readings_of, reduced, terms_without_names, time_of
from bowerbird.keywords.frames import encode_probe
from bowerbird.keywords.values import PROBE_POSTS
from bowerbird.model import Arrival, Facet, Outcome, Page, Reason, Service, Task
from bowerbird.ports import Frontier, KeywordProvider, Transaction

_PROBES, _PAID_PROBES = 20, 2
"""Probes in a frame, and where each costs money."""
_ADD = "insert into keyword_probes (crawl, term, lane, target, frame, asked_at) values (?, ?, ?, ?, ?, ?)"
_OPEN = "select probe, lane, target from keyword_probes where crawl = ? and answered_at is null and used_at is null"
_CANCEL = "update keyword_probes set used_at = ? where probe = ?"
_ANSWER = """
update keyword_probes set answered_at = ?, posts = ?, found = ?
where lane = ? and target = ? and answered_at is null and used_at is null
"""
_STALE = Reason("keywords", "a later frame has other candidates")


class ProbeQueue(Struct, frozen=True):
    """The queue for probes by one facet."""

    lane: int
    provider: KeywordProvider


def probes_per_frame(use: KeywordUse, facets: Iterable[Facet]) -> int:
    """Return how many probes a frame may have: as in the crawl file, or fewer where a search costs money."""
    if use.probes is not None:
        return use.probes
    return _PAID_PROBES if any(facet.is_paid for facet in facets) else _PROBES


class Prober:
    """Adds the probes of a decision and cancels older ones."""

    def __init__(self, crawl: int, queues: Mapping[str, ProbeQueue], most: int) -> None:
        """`queues`: by facet; `most`: probes in a frame."""
        self._crawl = crawl
        self._queues = queues
        self._most = most

    async def add(
        self, tx: Transaction, frontier: Frontier, wanted: Sequence[Sequence[str]], frame: datetime, now: datetime
    ) -> list[Arrival]:
        """Note the probes of a frame and return their tasks. `wanted`: terms of each method, the most useful first."""
        places: dict[str, tuple[int, str]] = {}
        longest = max((len(terms) for terms in wanted), default=0)
        # The first term of each method, then the second of each, and so on.
        for term in (terms[rank] for rank in range(longest) for terms in wanted if rank < len(terms)):
            place = self._place_of(term)
            if place is not None and len(places) < self._most:
                places.setdefault(term, place)
        await self._cancel_open(tx, frontier, set(places.values()), now)
        added = [(self._crawl, term, *place, to_micros(frame), to_micros(now)) for term, place in places.items()]
        await tx.execute_many(_ADD, added)
        # `newest=""`: a probe reads the newest posts, also those that an earlier one listed.
        return [Arrival(lane=lane, target=target, depth=1, newest="") for lane, target in places.values()]

    def _place_of(self, term: str) -> tuple[int, str] | None:
        for facet, queue in self._queues.items():
            search = queue.provider.keyword_search(term)
            if search is not None and search[0] == facet:
                return queue.lane, search[1]
        return None

    async def _cancel_open(self, tx: Transaction, frontier: Frontier, wanted: set[tuple[int, str]], now: datetime) -> None:
        """Cancel the probes that were not made, and retire their tasks unless they are wanted again."""
        cancelled = await tx.fetch(_OPEN, self._crawl)
        await tx.execute_many(_CANCEL, [(to_micros(now), row["probe"]) for row in cancelled])
        for lane in {row["lane"] for row in cancelled}:
            stale = [row["target"] for row in cancelled if row["lane"] == lane and (lane, row["target"]) not in wanted]
            if stale:
                await frontier.retire(tx, lane, stale, _STALE, now)


class ProbeFilter(KeywordFilter):
    """For probes: stores posts with a keyword, and notes the terms of all posts without their authors."""

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        followed = await self._cache.read(tx)
        listed = [post for post in page.posts if post.id not in page.along]
        readings = readings_of(page, listed)
        found = await self.without_opted_out(tx, page, [post for post in listed if post.text])
        newest = sorted(((time_of(post, now), terms_without_names(readings[post.key])) for post in found), reverse=True)[
            :PROBE_POSTS
        ]
        # A refused search says nothing about a term; a search without results does.
        if page.outcome is Outcome.OK:
            for task in tasks:
                await tx.execute(_ANSWER, to_micros(now), len(newest), encode_probe(newest), task.lane, task.target)
        kept = {post.id for post in listed if followed.methods_of(readings[post.key])}
        return reduced(structs.replace(page, gone=()), kept, ())
