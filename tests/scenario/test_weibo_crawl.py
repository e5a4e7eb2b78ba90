"""A whole crawl of the simulated Weibo in virtual time: limits without headers, kept by our own count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Request
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long

START = datetime(2026, 1, 5, 0, 20, tzinfo=UTC)
SMALL = WorldSettings(accounts=150, seed=5, following=8.0, longest_history=400, until=START)
FLOW = """
flow.seeds = ["profiles"]
flow.facets.profiles.ranker = "fifo"
flow.facets.timeline.ranker = "fifo"
flow.facets.following.ranker = "fifo"
flow.edges = [
  {from = "profiles", to = "timeline", take = "asked", when = "news"},
  {from = "profiles", to = "following", take = "asked", when = "news"},
]
"""
CUT_FLOW = """
flow.seeds = ["timeline"]
flow.facets.timeline.ranker = "fifo"
flow.facets.posts.ranker = "fifo"
flow.edges = [{from = "timeline", to = "posts", take = "posts", when = "cut"}]
"""
SEARCH_FLOW = """
flow.seeds = ["hashtag"]
flow.facets.hashtag.ranker = "fifo"
"""
LIMITS_FLOW = """
flow.seeds = ["limits"]
flow.facets.limits.ranker = "fifo"
"""


@pytest.mark.parametrize("tokens", [3, *long(1)])
def test_no_call_is_refused_and_every_hour_is_used_up(tokens: int) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="weibo", world=SMALL, tokens=tokens), clock)
        async with laboratory.crawl(laboratory.plan(FLOW, laboratory.keys())) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
            async with crawl.database.reading() as tx:
                rows = await tx.fetch("select id from posts")
        audit = laboratory.service.audit()
        assert (audit["refused"], audit["over_limit"]) == (0, 0)
        assert audit["calls"] > 300
        windows = -(-audit["buckets"]["user"]["used"] // (150 * tokens))
        assert clock.now() < START + timedelta(hours=windows)
        stored = {row["id"].removeprefix("weibo:") for row in rows}
        truth, service = laboratory.service.truth, laboratory.service
        for number, key in enumerate(laboratory.keys()):
            if truth.is_available(number, START):
                found = service.posts_to_find(key, START - timedelta(days=900), START, START)
                assert {post for post, gone in found.items() if gone is None or gone > START} <= stored

    run_virtual(main, start=START)


def test_a_refusal_is_believed_until_the_hour_and_asking_for_the_limits_costs_nothing() -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="weibo", world=SMALL, tokens=1), clock)
        service = laboratory.service
        token = next(iter(service.tokens)).value
        for _ in range(140):
            # Somebody else uses the same account.
            service.receive(Request(path="/2/tags.json", headers={"authorization": f"OAuth2 {token}"}), clock.now())
        async with laboratory.crawl(laboratory.plan(FLOW, laboratory.keys(40))) as crawl:
            ending = await laboratory.run(crawl)
            assert ending.state == "finished"
        audit = service.audit()
        assert 0 < audit["refused"] <= crawl.plan.concurrency
        before = audit["calls"]
        async with laboratory.crawl(laboratory.plan(LIMITS_FLOW, ["all"])) as crawl:
            await laboratory.run(crawl)
        assert service.audit()["calls"] == before + 1
        assert service.audit()["buckets"]["user"]["used"] == audit["buckets"]["user"]["used"]

    run_virtual(main, start=START)


def test_texts_that_were_cut_are_asked_for_whole() -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="weibo", world=SMALL, tokens=3), clock)
        async with laboratory.crawl(laboratory.plan(CUT_FLOW, laboratory.keys(25))) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            async with crawl.database.reading() as tx:
                asked = await tx.fetch("select t.target from tasks t join lanes l on l.lane = t.lane where l.facet = 'posts'")
                rows = await tx.fetch("select id, text, is_cut from posts where text is not null")
        texts = {row["id"].removeprefix("weibo:"): row["text"] for row in rows}
        assert asked
        assert [row["id"] for row in rows if row["is_cut"]] == []
        assert all(len(texts[row["target"]]) > 100 and not texts[row["target"]].endswith("...") for row in asked)

    run_virtual(main, start=START)


def test_a_search_that_finds_nothing_is_asked_once_and_is_no_fault() -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="weibo", world=SMALL, tokens=1), clock)
        async with laboratory.crawl(laboratory.plan(SEARCH_FLOW, ["nobodyeverwrotethis"])) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            async with crawl.database.reading() as tx:
                outcomes = [row["outcome"] for row in await tx.fetch("select outcome from calls")]
        assert outcomes == ["ok"]

    run_virtual(main, start=START)
