"""Probes: searches for a candidate alone, which show it as nobody's keywords chose it. They go through the ordinary engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.event.rows import encoded
from bowerbird.event.sieves import FilteredSieve, nameless, readings_of, reduced, time_of
from bowerbird.flows.keywords import KeywordUse
from bowerbird.model import Arrival, Facet, Outcome, Page, Reason, Service, Task
from bowerbird.model.terms import read_text
from bowerbird.policies.keywords import Sampled
from bowerbird.ports import Frontier, KeywordProvider, Transaction

POSTS = 40
"""The newest posts with a term that a probe looks at."""
_PROBES, _PAID_PROBES = 20, 2
"""How many a frame may have; few where each costs money."""
_ASK = "insert into keyword_probes (crawl, term, lane, target, frame, asked_at) values (?, ?, ?, ?, ?, ?)"
_OPEN = "select probe, lane, target from keyword_probes where crawl = ? and answered_at is null and used_at is null"
_DROP = "update keyword_probes set used_at = ? where probe = ?"
_ANSWER = """
update keyword_probes set answered_at = ?, posts = ?, found = ?
where lane = ? and target = ? and answered_at is null and used_at is null
"""
_STALE = Reason("keywords", "a later frame has other candidates")


class ProbeLane(Struct, frozen=True):
    """Where probes of one facet go."""

    lane: int
    provider: KeywordProvider


def most_probes(use: KeywordUse, facets: Iterable[Facet]) -> int:
    """How many a frame may have by searches of these facets: as the crawl file says, and few where each costs money."""
    if use.probes is not None:
        return use.probes
    return _PAID_PROBES if any(facet.is_paid for facet in facets) else _PROBES


class Prober:
    """Asks for probes, as many in each frame as are allowed."""

    def __init__(self, crawl: int, lanes: Mapping[str, ProbeLane], most: int) -> None:
        """`lanes`: by facet, of the one service that is searched."""
        self._crawl = crawl
        self._lanes = lanes
        self._most = most

    async def arrange(
        self, tx: Transaction, frontier: Frontier, wanted: Sequence[Sequence[str]], frame: datetime, now: datetime
    ) -> list[Arrival]:
        """The searches that follow from what methods want to know, the first of each first. Those of earlier frames that nobody
        had time for are called off."""
        chosen = dict(target for term in _in_turn(wanted) if (target := self._target(term)) is not None)
        chosen = dict(list(chosen.items())[: self._most])
        await self._call_off(tx, frontier, set(chosen.values()), now)
        rows = [(self._crawl, term, *place, to_micros(frame), to_micros(now)) for term, place in chosen.items()]
        await tx.execute_many(_ASK, rows)
        # Never from where the last probe ended: what a term means now shows in its newest posts, known or not.
        return [Arrival(lane=lane, target=target, depth=1, newest="") for lane, target in chosen.values()]

    def _target(self, term: str) -> tuple[str, tuple[int, str]] | None:
        for facet, each in self._lanes.items():
            asked = each.provider.keyword_search(term)
            if asked is not None and asked[0] == facet:
                return term, (each.lane, asked[1])
        return None

    async def _call_off(self, tx: Transaction, frontier: Frontier, again: set[tuple[int, str]], now: datetime) -> None:
        old = await tx.fetch(_OPEN, self._crawl)
        await tx.execute_many(_DROP, [(to_micros(now), row["probe"]) for row in old])
        for lane in {row["lane"] for row in old}:
            stale = [row["target"] for row in old if row["lane"] == lane and (lane, row["target"]) not in again]
            if stale:
                await frontier.retire(tx, lane, stale, _STALE, now)


class ProbeSieve(FilteredSieve):
    """Keeps of a probe what a keyword matches anyway; what the rest tells of the candidate is noted without its authors."""

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        known = await self._following.now(tx)
        listed = [post for post in page.posts if post.id not in page.along]
        found = _sampled(page, now)
        # A search that was refused tells nothing of the term; one that found nothing does.
        for task in tasks if page.outcome is Outcome.OK else ():
            await tx.execute(_ANSWER, to_micros(now), len(found), encoded(found), task.lane, task.target)
        readings = readings_of(page, listed)
        kept = {post.id for post in listed if known.mask(readings[post.key])}
        return reduced(structs.replace(page, gone=()), kept, ())


def _sampled(page: Page, now: datetime) -> list[Sampled]:
    """The terms of the newest posts of a page."""
    posts = [post for post in page.posts if post.id not in page.along and post.text]
    newest = sorted(posts, key=lambda post: time_of(post, now), reverse=True)[:POSTS]
    return [Sampled(nameless(read_text(post.text or "", post.tags)), time_of(post, now)) for post in newest]


def _in_turn(wanted: Sequence[Sequence[str]]) -> list[str]:
    """The first of each method, then the second of each, and so on; none twice."""
    longest = max((len(each) for each in wanted), default=0)
    turns = (each[place] for place in range(longest) for each in wanted if place < len(each))
    return list(dict.fromkeys(turns))
