"""The flow `cascades` in virtual time, on every network, against a world that knows who passed on what and who follows whom."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from bowerbird.analysis.cascades import Cascade, How, rebuild
from bowerbird.app import Crawl
from bowerbird.cli import run
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Passed, PostKind
from bowerbird.reports.studies.cascades import CascadeReader
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.content import visibility
from bowerbird.simulated.world.posts.reactions import Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPOST, author_of, ms_of
from bowerbird.simulated.world.settings import to_ms
from failures import json_error

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
NOW = to_ms(START)
STILL = WorldSettings(accounts=220, seed=5, following=14.0, longest_history=40, posts_per_day=2.5, until=START)
"""Time stands still in it, so that there is one truth."""
NETWORKS = pytest.mark.parametrize("dialect", ["mastodon", "bluesky", "x", "twitter_v1", "weibo"])
WITH_FOLLOWS = 'flow.use = "cascades"\nflow.facets.following.on = true\n'
SHORT_PAGES = "flow.facets.reposts.hints.limit = 2\nflow.facets.reposts.large_after = 1\n"


class Act(NamedTuple):
    """One passing on as it really was."""

    user: int
    kind: PostKind
    ms: int
    own: int = 0

    @property
    def is_private(self) -> bool:
        return self.kind is PostKind.QUOTE and visibility(self.own, STILL.seed) == "private"


@cache
def world() -> World:
    return World(STILL)


@cache
def passed_on() -> tuple[int, ...]:
    """Posts that may be read by all and were passed on, those with the most steps first."""
    found: dict[int, int] = {}
    for account in range(len(world())):
        if world().is_open(account, NOW):
            for row in world().all_rows(account, NOW - to_ms(datetime(1970, 1, 7, tzinfo=UTC)), NOW):
                if row.kind not in (REPOST, QUOTE) and row.gone_at > NOW and visibility(row.number, STILL.seed) == "public":
                    found[row.number] = len(truly(row.number))
    return tuple(sorted((number for number, steps in found.items() if steps), key=lambda number: -found[number])[:60])


def truly(number: int) -> list[Act]:
    """Who passed a post on and can still be seen to have done so, oldest first."""
    reactions = Reactions(world())
    acts = [Act(who, PostKind.REPOST, ms) for ms, who in reactions.reposters(number, NOW)]
    acts += [Act(author_of(own), PostKind.QUOTE, ms_of(own), own) for own in reactions.posts(number, NOW, QUOTE)]
    return sorted((each for each in acts if world().is_open(each.user, NOW)), key=lambda each: each.ms)


def simulated(dialect: str, work: Any) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect=dialect, world=STILL), clock))

    return run_virtual(main, start=START)


@asynccontextmanager
async def crawled(laboratory: Laboratory, flow: str, numbers: tuple[int, ...], store: str = ":memory:") -> AsyncIterator[Crawl]:
    seeds = [laboratory.service.dialect.post_key(number) for number in numbers]
    async with laboratory.crawl(laboratory.plan(flow, seeds, store=store)) as crawl:
        assert (await laboratory.run(crawl)).state == "finished"
        yield crawl


class Found(NamedTuple):
    """What a crawl found out about one post, in the world's own numbers."""

    passed: Passed
    tree: Cascade
    accounts: dict[int, int]
    """Account by the store's number."""

    def edges(self) -> dict[tuple[int, PostKind], tuple[int, How | None]]:
        """By who and how: from whom, for those steps that pass on the post itself."""
        steps = [step for step in self.tree.steps[1:] if step.of == self.passed.post]
        return {(self.accounts[s.user], s.kind): (self.accounts[self.tree.steps[s.parent].user], s.how) for s in steps}


async def found(laboratory: Laboratory, crawl: Crawl, number: int) -> Found | None:
    """None where the author opted out, so that the post is not kept."""
    reader, key = CascadeReader(crawl.database), laboratory.service.dialect.post_key(number)
    (post,) = await reader.find({key, f"x:{key}", f"weibo:{key}"})
    passed = await reader.read(post)
    accounts = await accounts_of(laboratory, crawl)
    if accounts[passed.author] in await opted_out(laboratory, crawl):
        return None
    return Found(passed, rebuild(passed), accounts)


async def accounts_of(laboratory: Laboratory, crawl: Crawl, where: str = "1 = 1") -> dict[int, int]:
    """The world's accounts by the store's numbers."""
    sql = "select u.user_no, coalesce(k.key, u.id) as key from users u left join user_keys k on k.user_no = u.user_no"
    async with crawl.database.reading() as tx:
        keys = {
            row["user_no"]: row["key"].removeprefix("x:").removeprefix("weibo:") for row in await tx.fetch(f"{sql} where {where}")
        }
    return {user: laboratory.service.account(key) for user, key in keys.items()}


async def opted_out(laboratory: Laboratory, crawl: Crawl) -> set[int]:
    return set((await accounts_of(laboratory, crawl, "u.opts_out = 1")).values())


@NETWORKS
def test_everybody_who_passed_a_post_on_is_found_and_nobody_else(dialect: str) -> None:
    # The hundred newest reposts are all that classic Twitter shows, whatever the size of the page.
    flow = WITH_FOLLOWS + (SHORT_PAGES if dialect != "twitter_v1" else "")

    async def work(laboratory: Laboratory) -> None:
        async with crawled(laboratory, flow, passed_on()) as crawl:
            unseen, steps, told = await opted_out(laboratory, crawl), 0, 0
            for number in passed_on():
                kept = await found(laboratory, crawl, number)
                if kept is not None:
                    acts = as_shown(dialect, [each for each in truly(number) if each.user not in unseen])
                    assert set(kept.edges()) == {(each.user, each.kind) for each in acts}
                    steps += len(acts)
                    told += sum(_is_told(kept, number, acts, each) for each in acts if each.kind is PostKind.REPOST)
            assert steps > 80
            assert told > steps / 2
        assert laboratory.service.limiter.refused == 0

    simulated(dialect, work)


def as_shown(dialect: str, acts: list[Act]) -> list[Act]:
    """What a network makes of quotes: Weibo a repost with words, classic Twitter nothing that it lists."""
    shown = [each for each in acts if not (each.is_private and dialect in ("mastodon", "weibo"))]
    if dialect == "twitter_v1":
        return [each for each in shown if each.kind is not PostKind.QUOTE]
    return [each._replace(kind=PostKind.REPOST) for each in shown] if dialect == "weibo" else shown


def _is_told(kept: Found, number: int, acts: list[Act], own: Act) -> bool:
    """Whether the crawl knows where a repost came from; it must be what the true follows and times say."""
    followed = set(world().graph.following(own.user, NOW)[0].tolist())
    had = [(ms_of(number), author_of(number))]
    had += [(each.ms, each.user) for each in acts if each.kind is PostKind.REPOST and each.ms < own.ms]
    truth = next((who for _, who in sorted(had, reverse=True) if who in followed), None)
    source, how = kept.edges()[own.user, own.kind]
    if how is How.NAMED:
        assert source == author_of(number)
    elif how is How.UNKNOWN:
        assert truth is None or world().people.hides_network[own.user]
    else:
        assert source == truth
    return how is not How.UNKNOWN


@pytest.mark.parametrize("dialect", ["mastodon", "bluesky", "x"])
def test_quotes_of_quotes_are_followed_down_to_the_depth_allowed(dialect: str) -> None:
    def longest(number: int) -> int:
        quotes = [each.own for each in truly(number) if each.kind is PostKind.QUOTE and not each.is_private]
        return 1 + max(map(longest, quotes)) if quotes else 0

    deep = tuple(number for number in passed_on() if longest(number) > 1)
    assert deep

    async def work(laboratory: Laboratory) -> None:
        for depth in (4, 0):
            async with crawled(laboratory, f'flow = "cascades"\nfilters.max_depth = {depth}', deep) as crawl:
                async with crawl.database.reading() as tx:
                    rows = await tx.fetch("select max(depth) as deepest from tasks")
                assert rows[0]["deepest"] == min(depth, max(map(longest, deep)))
                trees = [kept.tree for number in deep if (kept := await found(laboratory, crawl, number)) is not None]
                assert (max(_quoted_depth(tree) for tree in trees) > 1) is (depth > 0)

    simulated(dialect, work)


def _quoted_depth(tree: Cascade) -> int:
    """How many quotes there are, each of the one before."""
    by_post = {step.as_post: step for step in tree.steps if step.as_post is not None}
    deepest = 0
    for step in tree.steps[1:]:
        length, above = 0, step
        while above.of is not None and above.kind is PostKind.QUOTE:
            length, above = length + 1, by_post[above.of]
        deepest = max(deepest, length)
    return deepest


def test_whom_reposters_follow_is_asked_only_on_demand() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with crawled(laboratory, 'flow = "cascades"', passed_on()[:20]) as crawl:
            assert {lane.facet.name for lane in crawl.lanes.values()} == {"posts", "reposts", "quotes"}
            assert crawl.tally.size().calls < 3 * crawl.tally.size().posts
            kept = await found(laboratory, crawl, passed_on()[0])
            assert kept is not None
            assert set(kept.tree.ways) <= {How.UNKNOWN}

    simulated("bluesky", work)


def test_a_crawl_that_is_stopped_again_and_again_finds_the_same(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> list[Any]:
        kept = []
        seeds = [laboratory.service.dialect.post_key(number) for number in passed_on()[:15]]
        flow, store = f"{WITH_FOLLOWS}{SHORT_PAGES}", str(tmp_path / "cut.db")
        for calls in range(20, 2000, 20):
            async with laboratory.crawl(laboratory.plan(flow, seeds, f"stop.calls = {calls}", store=store)) as crawl:
                ending = await laboratory.run(crawl)
                if ending.reason.code == "limit_reached":
                    continue
                kept = [await found(laboratory, crawl, number) for number in passed_on()[:15]]
                break
        return [each and each.edges() for each in kept]

    async def at_once(laboratory: Laboratory) -> list[Any]:
        async with crawled(laboratory, f"{WITH_FOLLOWS}{SHORT_PAGES}", passed_on()[:15]) as crawl:
            kept = [await found(laboratory, crawl, number) for number in passed_on()[:15]]
            return [each and each.edges() for each in kept]

    assert simulated("mastodon", work) == simulated("mastodon", at_once)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a whole crawl of the simulated Bluesky."""
    path = tmp_path_factory.mktemp("cascades") / "cascades.db"

    async def work(laboratory: Laboratory) -> None:
        async with crawled(laboratory, WITH_FOLLOWS, passed_on()[:20], str(path)):
            pass

    simulated("bluesky", work)
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run(["cascade", *map(str, arguments), "--json"]) == 0
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_the_command_lists_every_cascade_and_shows_one_step_by_step(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = told(capsys, stored, "--top", 100)
    assert len(every["cascades"]) == every["found"] >= 15
    sizes = [each["size"] for each in every["cascades"]]
    assert sizes == sorted(sizes, reverse=True)
    largest = every["cascades"][0]
    assert "steps" not in largest
    (one,) = told(capsys, largest["post"], stored)["cascades"]
    steps = one.pop("steps")
    assert one == largest
    assert len(steps) == one["size"] == one["reposts"] + one["quotes"] == sum(one["how"].values())
    assert max(step["depth"] for step in steps) == one["depth"]
    assert told(capsys, stored, "--least", 10_000)["cascades"] == []


def test_the_command_says_what_is_wrong(stored: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    post, picture = "at://did:plc:nobody/app.bsky.feed.post/3k", str(tmp_path / "graph.png")
    for code, value, words in (
        ("unknown_post", post, [post, str(stored)]),
        ("unknown_format", ".gexf", [str(stored), "--out", picture]),
        ("invalid", "other.db", [str(stored), "other.db"]),
    ):
        assert run(["cascade", *words, "--json"]) == 2
        error = json_error(capsys.readouterr().err)
        assert error.code == code
        assert value in str(error)


@pytest.mark.parametrize("ending", ["gexf", "graphml", "jsonl"])
def test_the_graph_of_the_cascades_is_written_for_other_programs(
    stored: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"graph.{ending}"
    found = told(capsys, stored, "--out", path)
    passed = sum(each["size"] for each in found["cascades"])
    if ending == "jsonl":
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        nodes = {line["node"] for line in lines if "node" in line}
        arcs = [(line["source"], line["target"], line["kind"]) for line in lines if "source" in line]
    else:
        elements = list(ElementTree.parse(path).iter())
        nodes = {each.get("id", "") for each in elements if each.tag.endswith("}node")}
        edges = [each for each in elements if each.tag.endswith("}edge")]
        arcs = [(each.get("source", ""), each.get("target", ""), "".join(_values(each))) for each in edges]
    assert {end for source, target, _ in arcs for end in (source, target)} <= nodes
    assert sum(kind in ("repost", "quote") for _, _, kind in arcs) == passed
    assert run(["cascade", str(stored), "--out", str(path)]) == 2


def _values(edge: ElementTree.Element) -> list[str]:
    return [each.get("value") or each.text or "" for each in edge.iter() if each.tag.endswith(("}attvalue", "}data"))][:1]


def test_the_posts_of_accounts_lead_to_their_cascades_as_the_page_on_flows_shows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "flows.md").read_text("utf-8").split("### `cascades`")[1]
    variant = re.search(r"\n    \[flow\]\n(.*?)\n\n", page, re.DOTALL)
    assert variant is not None
    lines = dedent(variant[1]).replace("use =", "flow.use =", 1)
    flow = re.sub(r"^(seeds|facets|edges)", r"flow.\1", lines, flags=re.MULTILINE)

    async def work(laboratory: Laboratory) -> None:
        writers = sorted({author_of(number) for number in passed_on()[:12]})
        seeds = [laboratory.service.dialect.account_key(number) for number in writers]
        async with laboratory.crawl(laboratory.plan(flow, seeds)) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            unseen = await opted_out(laboratory, crawl)
            for number in passed_on():
                if author_of(number) in writers and author_of(number) not in unseen:
                    kept = await found(laboratory, crawl, number)
                    assert kept is not None
                    assert set(kept.edges()) == {(each.user, each.kind) for each in truly(number) if each.user not in unseen}

    simulated("bluesky", work)
