"""The flow `graph` around a celebrity, in virtual time: a list that is far longer than all others cannot starve them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
FAMOUS = WorldSettings(accounts=160, seed=4, following=5.0, celebrity=0.6, longest_history=40, posts_per_day=0.1, until=START)
PAGES = "flow.facets.followers.hints.limit = 2\nflow.facets.followers.large_after = 5\n"
GRAPH = f'flow.use = "graph"\n{PAGES}'
IN_LINE = GRAPH.replace("large_after = 5", "large_after = 10000")
"""No list is ever taken for a long one."""
SHORT = 5


class Asked(NamedTuple):
    """The calls for followers, in order: whose."""

    targets: list[str]
    celebrity: str

    def pages(self) -> Counter[str]:
        return Counter(self.targets)

    def last(self, target: str) -> int:
        return max(place for place, each in enumerate(self.targets) if each == target)

    def short(self) -> set[str]:
        return {target for target, pages in self.pages().items() if pages <= SHORT}


def crawl_around(dialect: str, flow: str, more: str = "", seeds: int = 6) -> Asked:
    async def main(clock: VirtualClock) -> Any:
        laboratory = Laboratory(Setup(dialect=dialect, world=FAMOUS), clock)
        plan = laboratory.plan(flow, laboratory.keys(seeds), more)
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert laboratory.service.limiter.refused == 0
            return await asked(laboratory, crawl)

    found: Asked = run_virtual(main, start=START)
    return found


async def asked(laboratory: Laboratory, crawl: Crawl) -> Asked:
    async with crawl.database.reading() as tx:
        rows = await tx.fetch("select targets from calls where facet = 'followers' order by call")
    return Asked([row["targets"] for row in rows], laboratory.keys(1)[0])


@pytest.mark.parametrize("dialect", ["mastodon", "bluesky", *long("x", "twitter_v1", "weibo")])
def test_all_short_lists_are_done_while_the_celebritys_is_still_paging(dialect: str) -> None:
    found = crawl_around(dialect, GRAPH, "filters.max_depth = 1", seeds=120)
    assert found.pages()[found.celebrity] > 30
    assert len(found.short()) > 60
    until_then = found.targets[: max(map(found.last, found.short())) + 1]
    # Its first pages come like everybody's, then a fifth of the calls for all long lists together.
    assert until_then.count(found.celebrity) <= SHORT + 0.2 * len(until_then) + 1
    assert until_then.count(found.celebrity) < found.pages()[found.celebrity]


@pytest.mark.parametrize("dialect", ["bluesky", *long("weibo")])
def test_without_a_bound_the_celebrity_near_the_seeds_comes_before_everybody_farther_away(dialect: str) -> None:
    free, bound = (crawl_around(dialect, flow, "concurrency = 1") for flow in (IN_LINE, GRAPH))
    assert free.pages()[free.celebrity] == bound.pages()[bound.celebrity] > 30
    ended = {name: found.last(found.celebrity) / len(found.targets) for name, found in (("free", free), ("bound", bound))}
    assert ended["free"] < 0.5 < 0.95 < ended["bound"]


def test_a_limit_on_the_degree_leaves_the_celebritys_list_alone() -> None:
    found = crawl_around("bluesky", GRAPH, "filters.max_followers = 20")
    assert found.celebrity not in found.pages()
    assert len(found.short()) > 10


def test_a_long_list_goes_on_where_it_stopped_and_is_still_a_long_one(tmp_path: Path) -> None:
    store, more = str(tmp_path / "graph.db"), "filters.max_depth = 1\nstop.calls = {}"

    async def main(clock: VirtualClock) -> tuple[Asked, list[float]]:
        laboratory, priorities = Laboratory(Setup(dialect="mastodon", world=FAMOUS), clock), []
        for calls in (100, 200, *range(300, 3000, 10)):
            plan = laboratory.plan(GRAPH, laboratory.keys(120), more.format(calls), store=store)
            async with laboratory.crawl(plan) as crawl:
                ending = await laboratory.run(crawl)
                found = await asked(laboratory, crawl)
                async with crawl.database.reading() as tx:
                    rows = await tx.fetch("select priority from tasks where target = ? and pages > ?", found.celebrity, SHORT)
                priorities += [row["priority"] for row in rows]
            if ending.reason.code != "limit_reached":
                return found, priorities
        raise AssertionError("the crawl does not come to its end")

    found, priorities = run_virtual(main, start=START)
    assert len(priorities) > 1
    assert max(priorities) < -1e12
    assert sorted(found.targets) == sorted(crawl_around("mastodon", GRAPH, "filters.max_depth = 1", seeds=120).targets)
    assert max(map(found.last, found.short())) < found.last(found.celebrity)
