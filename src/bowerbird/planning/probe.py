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
from bowerbird.crawl.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.crawl.flow import Stop
from bowerbird.errors import UserError
from bowerbird.model import Subject
from bowerbird.ports import Database, Row
from bowerbird.providers import provider
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.population import populate

_FLOW = 'seeds = ["0"]\nflow.name = "probe"\nflow.seeds = ["profiles", "profile"]\n'
_FACETS = ("profiles", "profile", "timeline")
_MOST_FOLLOWED = 300.0
"""More would make the follow graph of a simulated world as good as complete."""
_LONGEST = 6_000
_FITTINGS = 6
_DAY = timedelta(days=1)
_USERS = "select posts, following from users where checked_posts is not null"
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
    following: float | None
    """Mean number of accounts that one follows, where the network says it."""


async def probe(plan: CrawlPlan, outside: Outside, calls: int) -> Found:
    """Looks up the first seeds with at most so many calls; nothing is kept."""
    async with open_crawl(_probing(plan, calls), outside) as crawl:
        await crawl.session.run(crawl.seeds, slots=1, watch_every=timedelta(minutes=1))
        return await _found(crawl.database, crawl.tally.calls, outside.clock.now())


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
    begins = {facets[name].subject for name in plan.flow.seeds if name in facets}
    if begins != {Subject.USER}:
        raise UserError(f"a probe looks up accounts, and the seeds of {plan.flow.name} are none: leave --probe out")
    asked = [name for name in _FACETS if name in facets]
    lines = "".join(f"flow.facets.{name}.max_pages = 1\n" for name in asked)
    lines += 'flow.edges = [{from = "profiles", to = "timeline", take = "asked", when = "not protected"}]\n'
    text = f'{_FLOW}{lines}[service]\nprovider = "{service.service.provider}"\nbase = "{service.service.base}"\n'
    flow = parse_crawl(text, Path("probe.toml"), vocabulary()).flow
    flow = structs.replace(flow, stop=Stop(calls=calls))
    return structs.replace(
        plan, store=":memory:", flow=flow, services=(service,), streams=(), places=(), searches=(), backup=None, media=None
    )


async def _found(database: Database, calls: int, now: datetime) -> Found:
    async with database.reading() as tx:
        rows, pages = await tx.fetch(_USERS), await tx.fetch(_PAGES)
    if not rows:
        raise UserError("the probe saw no account that tells how much it writes; check the seeds, or leave --probe out")
    follows = [row["following"] for row in rows if row["following"] is not None]
    return Found(
        calls=calls,
        accounts=len(rows),
        posts=fmean(row["posts"] for row in rows),
        posts_per_day=_rate(pages, now),
        following=fmean(follows) if follows else None,
    )


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
