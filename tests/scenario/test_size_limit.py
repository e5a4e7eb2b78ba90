"""`[filters] max_users` in virtual time: a crawl asks about so many accounts and no more, and about each of them in full."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import generator
from marks import long

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STILL = WorldSettings(accounts=150, seed=3, following=8.0, longest_history=4, posts_per_day=0.3, until=START)
NETWORKS = pytest.mark.parametrize("dialect", ["twitter_v1", *long("x", "mastodon", "bluesky")])
MOST = 30


def simulated(dialect: str, work: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        await work(Laboratory(Setup(dialect=dialect, world=STILL, tokens=1), clock))

    run_virtual(main, start=START)


async def asked(crawl: Crawl, when: str = "1 = 1") -> dict[str, set[str]]:
    """The accounts that each facet asks about; a handle is only another name of one."""
    found: dict[str, set[str]] = defaultdict(set)
    sql = "select l.facet, t.target from tasks t join lanes l on l.lane = t.lane where t.target not like '@%' and "
    async with crawl.database.reading() as tx:
        for row in await tx.fetch(sql + when):
            found[row["facet"]].add(row["target"])
    return found


def seeds(laboratory: Laboratory) -> list[str]:
    """Two accounts that are there and may be collected: one by key, one by handle."""
    service = laboratory.service
    first, second = service.truth.sample_accounts(2, generator(STILL.seed, 98), START, writers=True)
    return [service.dialect.account_key(first), f"@{service.dialect.handle_of(second, START)}"]


@NETWORKS
def test_a_graph_asks_about_so_many_accounts_and_no_more(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        text = f'flow = "graph"\nfilters = {{ max_depth = 3, max_users = {MOST} }}'
        async with laboratory.crawl(laboratory.plan(text, seeds(laboratory))) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            found = await asked(crawl)
            assert len(set().union(*found.values())) == MOST
            assert len(found["profiles"]) == MOST

    simulated(dialect, work)


@NETWORKS
def test_robots_that_are_full_still_ask_everything_about_those_they_have(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        # Lists cost money on X, where a crawl file has to ask for them.
        lists = "\n".join(f"flow.facets.{name}.on = true" for name in ("following", "followers"))
        text = f'flow.use = "robots"\n{lists}\nfilters.max_users = {MOST}\nstop.calls = 600'
        async with laboratory.crawl(laboratory.plan(text, seeds(laboratory))) as crawl:
            await laboratory.run(crawl)
            found = await asked(crawl)
            accounts = found["following"] | found["followers"] | found["profile"] | found["timeline"]
            assert len(accounts) == MOST
            listed = await asked(crawl, "t.visits > 0")
            # Who protects the list, or is not to be had, leads nowhere.
            assert len(listed["following"] & found["followers"]) > len(listed["following"]) * 0.7

    simulated(dialect, work)
