"""The plan of a crawl against what happened: rehearsed once in the background, then held against the counts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec
from msgspec import Struct, structs

from bowerbird.crawl.life.plan_versions import joined
from bowerbird.planning.plan import Inquiry, Plan, plan_crawl
from bowerbird.reports.working.frontier import read_seeds
from bowerbird.web.pages.crawl.seen import Crawls
from bowerbird.web.site import Site

COUNTS = ("calls", "items", "users", "posts")
_HOURS = (0.0, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48, 72, 96, 120, 168, 240, 336, 480, 720)
_JOBS = 2
"""More than one: then rehearsals run in processes of their own, and requests do not wait for them."""


class Foreseen(Struct, frozen=True, kw_only=True):
    """What a plan says of a crawl at some times after its beginning: in a quiet, a usual and a busy world."""

    hours: list[float]
    counts: dict[str, list[list[float]]]
    """By what is counted, for each time the three figures."""
    ends_after: float | None
    """Hours."""
    ends_because: str
    bottleneck: str | None
    seeds: int

    def at(self, what: str, hours: float) -> list[float]:
        """The three figures at a time, in between by a straight line."""
        return [between(self.hours, [each[world] for each in self.counts[what]], hours) for world in range(3)]


class Compared(Struct, frozen=True, kw_only=True):
    """One count of a crawl against its plan."""

    what: str
    low: float
    likely: float
    high: float
    actual: int

    @property
    def words(self) -> str:
        if self.actual < self.low:
            return "less than planned"
        return "more than planned" if self.actual > self.high else "as planned"


async def foresee(site: Site, name: str) -> str:
    """Rehearses a crawl of the store as its plan is now; nothing is called."""
    crawl = await Crawls(site).crawl(name)
    async with site.database.reading() as tx:
        # It is rehearsed from its beginning, in a store of its own.
        plan = structs.replace(await joined(tx, name, ""), is_joined=False)
        seeds = await read_seeds(tx, crawl.crawl)
    credentials = tuple(site.vault.credentials()) if site.vault is not None else ()
    inquiry = Inquiry(seeds=max(1, seeds), credentials=credentials, has_variants=False)
    made = await asyncio.to_thread(plan_crawl, plan, inquiry, jobs=_JOBS)
    return msgspec.json.encode(_foreseen(made, seeds)).decode()


def _foreseen(plan: Plan, seeds: int) -> Foreseen:
    counts = {
        what: [sorted(course.count(what, timedelta(hours=hours)) for course in plan.courses) for hours in _HOURS]
        for what in COUNTS
    }
    end = plan.likely.end
    return Foreseen(
        hours=list(_HOURS),
        counts=counts,
        ends_after=None if end is None else end[0] / timedelta(hours=1),
        ends_because="" if end is None else end[1] or "everything is asked",
        bottleneck=plan.bottleneck(),
        seeds=seeds,
    )


def compared(plan: Foreseen, ran: timedelta, actual: Mapping[str, int]) -> list[Compared]:
    """Every count at the time that the crawl was run."""
    found = []
    for what in COUNTS:
        low, likely, high = plan.at(what, ran / timedelta(hours=1))
        found.append(Compared(what=what, low=low, likely=likely, high=high, actual=actual[what]))
    return found


def between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """What stands at `x` on the straight lines through some points; the last one beyond them."""
    for place in range(1, len(xs)):
        if x <= xs[place]:
            share = (x - xs[place - 1]) / ((xs[place] - xs[place - 1]) or 1.0)
            return ys[place - 1] + share * (ys[place] - ys[place - 1])
    return ys[-1]
