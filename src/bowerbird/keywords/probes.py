"""Probes: searches for one candidate alone, which show how it is used beyond the posts of the keywords.

A probe is an ordinary task on a queue of its own. It reads one page, and keeps its posts, as terms without
names, until the next decision. Probes that were not made before the next decision are cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.flows.keywords import KeywordUse
from bowerbird.keywords.filters import KeywordFilter, readings_of, reduced, terms_without_names, time_of
from bowerbird.keywords.rows import to_json
from bowerbird.keywords.values import PROBE_POSTS
from bowerbird.model import Arrival, Facet, Outcome, Page, Reason, Service, Task
from bowerbird.ports import Frontier, Transaction
from bowerbird.providers.base import Provider

_ADD = "insert into keyword_probes (crawl, term, lane, target, asked_at) values (?, ?, ?, ?, ?)"
_OPEN = "select probe, lane, target from keyword_probes where crawl = ? and answered_at is null and used_at is null"
_CANCEL = "update keyword_probes set used_at = ? where probe = ?"
_ANSWER = """
update keyword_probes set answered_at = ?, posts = ?, found = ?
where lane = ? and target = ? and answered_at is null and used_at is null
"""
_STALE = Reason("keywords", "a later frame has other candidates")


class Searches(Struct, frozen=True):
    """The queues of a service that search for terms."""

    lanes: dict[str, int]
    """By facet."""
    provider: Provider

    def place_of(self, term: str) -> tuple[int, str] | None:
        """Return the queue and the target of the search for a term; None if the service cannot search for it."""
        search = self.provider.keyword_search(term)
        return (self.lanes[search[0]], search[1]) if search is not None and search[0] in self.lanes else None


def probes_per_frame(use: KeywordUse, facets: Iterable[Facet]) -> int:
    """Return how many probes a frame may have: as in the crawl file, or 20, or 2 where a search costs money."""
    if use.probes is not None:
        return use.probes
    return 2 if any(facet.is_paid for facet in facets) else 20


async def replace_probes(
    tx: Transaction, frontier: Frontier, crawl: int, places: dict[str, tuple[int, str]], now: datetime
) -> list[Arrival]:
    """Cancel the probes that were not made, note others, and return their tasks. `places`: by term its queue and target."""
    wanted = set(places.values())
    cancelled = await tx.fetch(_OPEN, crawl)
    await tx.execute_many(_CANCEL, [(to_micros(now), row["probe"]) for row in cancelled])
    for lane in {row["lane"] for row in cancelled}:
        stale = [row["target"] for row in cancelled if row["lane"] == lane and (lane, row["target"]) not in wanted]
        if stale:
            await frontier.retire(tx, lane, stale, _STALE, now)
    await tx.execute_many(_ADD, [(crawl, term, *place, to_micros(now)) for term, place in places.items()])
    # `newest=""`: a probe reads the newest posts, also those that an earlier one listed.
    return [Arrival(lane=lane, target=target, depth=1, newest="") for lane, target in places.values()]


class ProbeFilter(KeywordFilter, frozen=True):
    """For probes: stores posts with a keyword, and notes the terms of all posts without their authors."""

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        followed = await self.cache.read(tx)
        listed = [post for post in page.posts if post.id not in page.along]
        readings = readings_of(page, listed)
        # A refused search says nothing about a term; a search without results does.
        if page.outcome is Outcome.OK:
            found = await self.without_opted_out(tx, page, [post for post in listed if post.text])
            posts = [(to_micros(time_of(post, now)), terms_without_names(readings[post.key])) for post in found]
            newest = sorted(posts, reverse=True)[:PROBE_POSTS]
            for task in tasks:
                await tx.execute(_ANSWER, to_micros(now), len(newest), to_json(newest), task.lane, task.target)
        kept = {post.id for post in listed if followed.methods_of(readings[post.key])}
        return reduced(page, kept, ())
