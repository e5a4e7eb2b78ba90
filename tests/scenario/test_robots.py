"""The flow `robots` in virtual time: five robots, their circular queues and how they feed each other, against the truth."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.reports.deletions import AbsentUser, EndedRelation, read_deletions
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.content import visibility
from bowerbird.simulated.world.posts.reactions import Reactions
from bowerbird.simulated.world.posts.rows import REPLY, author_of
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.world.world import Availability
from marks import long

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
NOW = to_ms(START)
STILL = WorldSettings(accounts=40, seed=3, following=5.0, longest_history=6, posts_per_day=0.8, likes_per_post=0.3, until=START)
"""Time stands still in it, so that there is one truth."""
MOVING = msgspec.structs.replace(STILL, accounts=50, seed=8, until=None)
NETWORKS = pytest.mark.parametrize("dialect", ["twitter_v1", *long("weibo", "mastodon", "bluesky", "x")])
OPEN_QUEUES = ("following", "followers", "profile", "timeline")
ONE_ROUND = "\n".join(
    ["stop.duration = '20h'", *(f"flow.facets.{name}.revisit = '1d'" for name in (*OPEN_QUEUES, "thread", "tags"))]
)
"""Long enough for everybody's turn, too short for a second."""


@cache
def world() -> World:
    return World(STILL)


def simulated(dialect: str, work: Any, settings: WorldSettings = STILL, tokens: int = 1) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect=dialect, world=settings, tokens=tokens), clock))

    return run_virtual(main, start=START)


def starter() -> int:
    """An open account with many neighbours."""
    accounts = [account for account in range(len(world())) if world().is_open(account, NOW)]
    return max(accounts, key=lambda account: len(world().graph.followers(account, NOW)[0]))


def plan(laboratory: Laboratory, more: str, seed: str = "") -> Any:
    # On X the relation robot costs money, and must be switched on.
    lists = "flow.facets.following.on = true\nflow.facets.followers.on = true\n" if laboratory.service.dialect.name == "x" else ""
    return laboratory.plan(f'flow.use = "robots"\nconcurrency = 1\n{lists}{more}\n', [seed or laboratory.keys()[starter()]])


async def queues(crawl: Crawl) -> dict[str, set[str]]:
    """Who waits in the queue of each facet."""
    found: dict[str, set[str]] = defaultdict(set)
    async with crawl.database.reading() as tx:
        for row in await tx.fetch("select l.facet, t.target from tasks t join lanes l on l.lane = t.lane"):
            found[row["facet"]].add(row["target"])
    return found


async def rows(crawl: Crawl, sql: str) -> list[Any]:
    async with crawl.database.reading() as tx:
        return list(await tx.fetch(sql))


def circle(laboratory: Laboratory) -> set[str]:
    """Everybody whom relations lead to from the start, over lists that the service shows."""
    hides, graph = world().people.hides_network, world().graph
    reached, open_ends = {starter()}, [starter()]
    while open_ends:
        account = open_ends.pop()
        if not world().is_open(account, NOW) or (laboratory.service.dialect.name == "mastodon" and hides[account]):
            continue
        neighbours = {*graph.following(account, NOW)[0].tolist(), *graph.followers(account, NOW)[0].tolist()}
        there = {each for each in neighbours if world().exists(each, NOW)}
        open_ends += there - reached
        reached |= there
    return {laboratory.keys()[account] for account in reached}


@NETWORKS
def test_the_queues_grow_together_along_the_social_network(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan(laboratory, ONE_ROUND)) as crawl:
            await laboratory.run(crawl)
            waiting = await queues(crawl)
            (opted,) = await rows(crawl, "select count(*) as out from users where opts_out = 1")
            for facet in OPEN_QUEUES:
                assert waiting[facet] <= set(laboratory.keys())
                # Whoever opts out is left alone from then on, whichever queue holds the account by then.
                assert len(circle(laboratory) - waiting[facet]) <= opted["out"]
            assert waiting["following"] == waiting["profile"] | {laboratory.keys()[starter()]}
            assert ("tags" in waiting) is (dialect in ("weibo", "mastodon"))
            assert ("thread" in waiting) is (dialect != "twitter_v1")
        assert laboratory.service.limiter.refused == 0

    simulated(dialect, work)


def test_everything_to_be_had_of_open_accounts_is_stored_on_weibo() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan(laboratory, ONE_ROUND)) as crawl:
            await laboratory.run(crawl)
            service, keys = laboratory.service, laboratory.keys()
            posts = {row["id"].removeprefix("weibo:") for row in await rows(crawl, "select id from posts")}
            pairs = "select s.id as source, t.id as target from relations r join users s on s.user_no = r.source "
            found = await rows(crawl, pairs + "join users t on t.user_no = r.target")
            edges = {(row["source"].removeprefix("weibo:"), row["target"].removeprefix("weibo:")) for row in found}
            reached = circle(laboratory)
            open_ones = [number for number, key in enumerate(keys) if key in reached and world().is_open(number, NOW)]
            assert len(open_ones) > 25
            for account in open_ones:
                expected = service.posts_to_find(keys[account], START - timedelta(days=900), START, START)
                assert {post for post, gone in expected.items() if gone is None or gone > START} <= posts
                followed = world().graph.following(account, NOW)[0].tolist()
                assert {(keys[account], keys[other]) for other in followed if world().exists(other, NOW)} <= edges
            comments = {
                row["id"].removeprefix("weibo:") for row in await rows(crawl, "select id from posts where kind = 'comment'")
            }
            assert len(comments) == len(true_comments(open_ones)) > 3
            tagged = await rows(crawl, "select distinct user_no from user_tags")
            assert len(tagged) > 10
            await check_reposts(crawl)

    simulated("weibo", work)


async def check_reposts(crawl: Crawl) -> None:
    """Every post that says it was passed on was asked about, once, and its reposts led to their authors."""
    asked = Counter(row["targets"] for row in await rows(crawl, "select targets from calls where facet = 'reposts'"))
    assert len(asked) > 10
    assert set(asked.values()) == {1}
    waiting = await queues(crawl)
    reposters = await rows(
        crawl, "select distinct u.id from posts p join users u on u.user_no = p.author where p.kind = 'repost'"
    )
    assert {row["id"].removeprefix("weibo:") for row in reposters} <= waiting["following"] & waiting["tags"]


def true_comments(open_ones: list[int]) -> set[int]:
    """Everything said under the posts of these accounts by people who can be seen."""
    reactions, found = Reactions(world()), set[int]()
    for account in open_ones:
        for row in world().all_rows(account, 0, NOW):
            is_readable = row.gone_at > NOW and visibility(row.number, STILL.seed) != "private"
            waiting = [row.number] if row.kind != REPLY and is_readable else []
            while waiting:
                replies = reactions.posts(waiting.pop(), NOW, REPLY)
                waiting += replies
                found |= {each for each in replies if world().is_open(author_of(each), NOW)}
    return found


def test_a_queue_goes_round_in_the_same_order_for_ever() -> None:
    async def work(laboratory: Laboratory) -> None:
        off = "\n".join(f"flow.facets.{name}.on = false" for name in ("timeline", "tags"))
        async with laboratory.crawl(plan(laboratory, f"stop.calls = 800\n{off}")) as crawl:
            await laboratory.run(crawl)
            for facet in ("following", "followers", "profile"):
                calls = await rows(crawl, f"select targets, outcome from calls where facet = '{facet}' order by call")
                # Who is not to be had rests for a day, and goes round no faster.
                resting = [row["targets"] for row in calls if row["outcome"] not in (None, "ok")]
                assert len(resting) == len(set(resting))
                asked = [row["targets"] for row in calls if row["targets"] not in resting]
                length = len((await queues(crawl))[facet] - set(resting))
                assert len(asked) > 3 * length
                assert asked[-length:] == asked[-2 * length : -length]
                assert len(set(asked[-length:])) == length

    simulated("weibo", work)


def test_a_robot_that_is_off_asks_nothing_and_takes_along_what_only_it_feeds() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(plan(laboratory, "flow.facets.timeline.on = false")) as crawl:
            assert {lane.facet.name for lane in crawl.lanes.values()} == {"following", "followers", "profile", "tags"}
        off = "stop.calls = 150\nflow.facets.thread.on = false\nflow.facets.profile.on = false"
        async with laboratory.crawl(plan(laboratory, off)) as crawl:
            await laboratory.run(crawl)
            assert set(await queues(crawl)) == {"following", "followers", "timeline", "posts", "reposts", "tags"}

    simulated("weibo", work)


def test_a_handle_is_looked_up_and_starts_the_relation_robot() -> None:
    async def work(laboratory: Laboratory) -> None:
        handle = laboratory.service.dialect.handle_of(starter(), START)
        async with laboratory.crawl(plan(laboratory, "stop.calls = 30", f"@{handle}")) as crawl:
            await laboratory.run(crawl)
            first = await rows(crawl, "select facet, targets from calls order by call limit 2")
            assert [row["facet"] for row in first] == ["profile", "following"]
            assert laboratory.keys()[starter()] in first[1]["targets"]

    simulated("weibo", work)


def test_each_robot_may_have_a_credential_of_its_own() -> None:
    robots = {"following": 1, "followers": 1, "profile": 2, "timeline": 3, "posts": 3, "reposts": 3, "thread": 4, "tags": 5}

    async def work(laboratory: Laboratory) -> None:
        own = "\n".join(f'flow.facets.{facet}.credentials = ["user{number}"]' for facet, number in robots.items())
        began = laboratory.clock.now()
        async with laboratory.crawl(plan(laboratory, f"stop.calls = 500\n{own}")) as crawl:
            await laboratory.run(crawl)
            used = Counter((row["facet"], row["credential"]) for row in await rows(crawl, "select facet, credential from calls"))
        assert dict(used.keys()) == {facet: f"user{number}" for facet, number in robots.items()}
        assert len(used) == len(robots)
        # Five limits of 150 an hour, each with its own robot: none waits for another's.
        assert laboratory.clock.now() - began < timedelta(hours=2)
        assert laboratory.service.limiter.refused == 0

    simulated("weibo", work, tokens=5)


def test_banned_users_and_cancelled_relations_are_kept_apart() -> None:
    off = "\n".join(f"flow.facets.{name}.on = false" for name in ("timeline", "tags"))
    again = "\n".join(f"flow.facets.{name}.revisit = '50d'" for name in ("following", "followers", "profile"))

    async def work(laboratory: Laboratory) -> None:
        seed = laboratory.keys()[0]
        text = f'flow.use = "robots"\nstop.duration = "151d"\n{off}\n{again}\n'
        async with laboratory.crawl(laboratory.plan(text, [seed])) as crawl:
            await crawl.process.run(crawl.seeds, slots=4, watch_every=timedelta(days=5))
            absent = [line async for line in read_deletions(crawl.database, "users") if isinstance(line, AbsentUser)]
            ended = [line async for line in read_deletions(crawl.database, "relations") if isinstance(line, EndedRelation)]
            reached = (await queues(crawl))["profile"]
            refused = await rows(crawl, "select distinct target from shortfalls where cause = 'protected'")
        check_absences(laboratory, absent, reached)
        check_refused(laboratory, {row["target"] for row in refused}, absent)
        check_ends(laboratory, ended)

    simulated("weibo", work, MOVING)


def number(laboratory: Laboratory, known_id: str) -> int:
    return laboratory.service.account(known_id.removeprefix("weibo:"))


def check_absences(laboratory: Laboratory, absent: list[AbsentUser], reached: set[str]) -> None:
    truth, last_round = laboratory.service.truth, laboratory.clock.now() - timedelta(days=52)
    for line in absent:
        assert truth.availability(number(laboratory, line.id), line.since) is not Availability.OPEN
    still = {line.id for line in absent if line.until is None}
    gone = {
        f"weibo:{key}" for key in reached if truth.availability(laboratory.service.account(key), last_round) is Availability.GONE
    }
    assert gone
    assert gone <= still


def check_refused(laboratory: Laboratory, refused: set[str], absent: list[AbsentUser]) -> None:
    """A list that its owner protects is missing; the owner is not absent, because the own profile is still shown."""
    truth, service, now = laboratory.service.truth, laboratory.service, laboratory.clock.now()
    shown = {key for key in refused if truth.availability(service.account(key), now) is not Availability.GONE}
    assert shown
    assert {line.reason for line in absent} == {"not_found"}
    assert not shown & {line.id.removeprefix("weibo:") for line in absent if line.until is None}


def check_ends(laboratory: Laboratory, ended: list[EndedRelation]) -> None:
    truth, cancelled = laboratory.service.truth, 0
    for line in ended:
        source, target = number(laboratory, line.source), number(laboratory, line.target)
        assert line.after is not None
        assert target in truth.following(source, line.after)
        ends_open = all(truth.is_available(each, line.before) for each in (source, target))
        if ends_open:
            assert target not in truth.following(source, line.before)
            cancelled += 1
    assert cancelled > 5
