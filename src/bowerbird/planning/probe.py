"""A probe: a few real calls that look up some of the seeds and the first page of some of their timelines, so that a plan's
worlds are as lively as they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean

import numpy as np
from msgspec import Struct, structs

from bowerbird.app import Outside, open_crawl, vocabulary
from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.flows.flow import Stop
from bowerbird.model import Subject
from bowerbird.planning.booking import book, lend
from bowerbird.ports import Database, Row
from bowerbird.providers import provider
from bowerbird.providers.limit_overrides import with_limits
from bowerbird.providers.x.billing import PRICES, resource
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.people.population import populate
from bowerbird.store.opening import open_store

_FLOW = 'seeds = ["0"]\nflow.name = "probe"\nflow.seeds = ["profiles", "profile"]\n'
_FACETS = ("profiles", "profile", "timeline")
_MOST_FOLLOWED = 300.0
"""More would make the follow graph of a simulated world as good as complete."""
_LONGEST = 6_000
_PATIENCE = timedelta(minutes=20)
"""A probe waits for limits like any crawl, but nobody waits for a probe until the next month."""
_FITTINGS = 6
_DAY = timedelta(days=1)
_UNKNOWN = {
    Subject.POST: "how many of these posts are gone, or how often they were answered and passed on",
    Subject.WORD: "how much is written about these words, or by how many",
}
"""What a probe cannot learn of seeds that are no accounts."""
_USERS = "select posts, followers, following from users where checked_posts is not null"
"""The accounts that were asked about; those that came along with them are others, and busier."""
_PAGES = """
select c.call, p.author, count(*) as posts, min(p.created_at) as oldest from calls c left join posts p on p.found_by = c.call
where c.facet = 'timeline' and c.outcome = 'ok' group by c.call, p.author
"""


class Found(Struct, frozen=True, kw_only=True):
    """What a probe learned of the accounts it saw."""

    calls: int
    accounts: int
    posts: float
    """Mean number of posts of an account."""
    posts_per_day: float | None
    """Of those whose timelines were seen."""
    followers: float | None = None
    following: float | None
    """Mean number of accounts that follow one, and that one follows, where the network says it."""


async def probe(plan: CrawlPlan, outside: Outside, calls: int) -> Found:
    """Looks up the first seeds with at most so many calls. What they bring is not kept; what they spend is booked in the
    crawl's own store, which is made if it is new, so that the crawl begins with what they leave."""
    probing = _probing(plan, calls)
    own = open_store(plan.store, outside.clock)
    async with own as store, open_crawl(probing, outside) as crawl:
        lent = await lend(store, crawl.database)
        try:
            await crawl.process.run(crawl.seeds, slots=1, watch_every=timedelta(minutes=1))
        finally:
            await book(crawl.database, store, lent)
        return await _found(crawl.database, crawl.tally.calls, outside.clock.now())


def check_seeds(plan: CrawlPlan) -> None:
    """Raises `UserError` with what a probe cannot learn, unless the flow begins with accounts."""
    facets = provider(plan.services[0].service.provider).facets
    begins = {facets[name].subject for name in plan.flow.seeds if name in facets}
    if begins == {Subject.USER}:
        return
    cannot = "; nor ".join(words for subject, words in _UNKNOWN.items() if subject in begins) or "what a stream will bring"
    raise UserError(
        f"--probe looks up accounts, and the seeds of {plan.flow.name} are none: it cannot learn {cannot}.",
        "Leave it out; the plan then takes the simulated world's usual figures",
        code="unsupported",
    )


def most_dollars(plan: CrawlPlan, calls: int) -> float | None:
    """The most that a probe can cost, each seed looked up and a page of its timeline read; None where calls cost nothing."""
    planned = plan.services[0]
    if planned.service.provider != "x":
        return None
    facets = with_limits(provider("x"), planned.limits).facets
    full = {name: facets[name].results_per_call * PRICES[resource(facets[name])] for name in _FACETS}
    most = calls * max(full.values())
    if plan.seeds.query is None:
        seeds = sum(1 for _ in plan.seeds)
        most = min(most, seeds * PRICES["user"] + min(seeds, calls) * full["timeline"])
    return most / 1000


def fitted(world: WorldSettings, found: Found) -> WorldSettings:
    """A world whose accounts write and follow as much as those that were seen."""
    following = world.following if found.following is None else min(max(found.following, 1.0), _MOST_FOLLOWED)
    rate = world.posts_per_day if found.posts_per_day is None else max(found.posts_per_day, 0.01)
    longest = max(_LONGEST, world.longest_history)
    fit = structs.replace(world, posts_per_day=rate, following=following, longest_history=longest)
    for _ in range(_FITTINGS):
        people = populate(fit)
        mean = float(np.mean(people.history + people.rate * fit.warm))
        fit = structs.replace(fit, history=fit.history * min(4.0, max(0.25, found.posts / max(mean, 0.1))))
    return fit


def _probing(plan: CrawlPlan, calls: int) -> CrawlPlan:
    service = plan.services[0]
    facets = provider(service.service.provider).facets
    check_seeds(plan)
    asked = [name for name in _FACETS if name in facets]
    lines = "".join(f"flow.facets.{name}.max_pages = 1\n" for name in asked)
    edges = [
        f'{{from = "{name}", to = "timeline", take = "asked", when = "not protected"}}' for name in asked if name != "timeline"
    ]
    lines += f"flow.edges = [{', '.join(edges)}]\n"
    text = f'{_FLOW}{lines}[service]\nprovider = "{service.service.provider}"\nbase = "{service.service.base}"\n'
    flow = parse_crawl(text, Path("probe.toml"), vocabulary()).flow
    flow = structs.replace(flow, stop=Stop(calls=calls, duration=_PATIENCE))
    return structs.replace(
        plan, store=":memory:", flow=flow, services=(service,), streams=(), places=(), searches=(), backup=None, media=None
    )


async def _found(database: Database, calls: int, now: datetime) -> Found:
    async with database.reading() as tx:
        rows, pages = await tx.fetch(_USERS), await tx.fetch(_PAGES)
    if not rows:
        raise UserError(
            f"the probe made {calls} calls and saw no account that tells how much it writes", "check the seeds or omit --probe"
        )
    return Found(
        calls=calls,
        accounts=len(rows),
        posts=fmean(row["posts"] for row in rows),
        posts_per_day=_rate(pages, now),
        followers=_mean(rows, "followers"),
        following=_mean(rows, "following"),
    )


def _mean(rows: Sequence[Row], column: str) -> float | None:
    known = [row[column] for row in rows if row[column] is not None]
    return fmean(known) if known else None


def _rate(pages: Sequence[Row], now: datetime) -> float | None:
    """Posts per day of one account: of each page, its owner's posts and the time they took. Posts that came along are others'."""
    by_call: dict[int, Row] = {}
    for row in pages:
        if row["call"] not in by_call or row["posts"] > by_call[row["call"]]["posts"]:
            by_call[row["call"]] = row
    return fmean(_speed(row, now) for row in by_call.values()) if by_call else None


def _speed(row: Row, now: datetime) -> float:
    if row["oldest"] is None:
        return 0.0
    return float(row["posts"] / max(1.0, (now - from_micros(row["oldest"])) / _DAY))
