"""Out of the store and back: ids written by `dehydrate`, read by `hydrate`; addresses as seeds; what is stored as seeds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bowerbird.app import Crawl
from bowerbird.cli import run as run_command
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.sections.seed_list import SeedList, SeedQuery
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from failures import raises_code
from marks import long

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
STILL = WorldSettings(accounts=40, seed=3, following=14.0, longest_history=8, posts_per_day=0.8, until=START)
MOVING = msgspec.structs.replace(STILL, until=None, posts_per_day=9.0)
NETWORKS = pytest.mark.parametrize("dialect", ["mastodon", "bluesky", "x", "twitter_v1", "weibo"])
KEPT = "select p.id from posts p join users u on u.user_no = p.author where p.deleted_at is null and coalesce(u.opts_out, 0) = 0"
COLLECT = """
flow.seeds = ["timeline"]
flow.facets.timeline.ranker = "fifo"
"""


def simulated(dialect: str, work: Any, settings: WorldSettings = STILL, start: datetime = START) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect=dialect, world=settings), clock))

    return run_virtual(main, start=start)


async def column(crawl: Crawl, sql: str) -> list[Any]:
    async with crawl.database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


async def collected(laboratory: Laboratory, flow: str, seeds: list[str], store: str) -> list[str]:
    """Runs a crawl to its end and answers the ids of the posts in its store that may be passed on."""
    async with laboratory.crawl(laboratory.plan(flow, seeds, store=store)) as crawl:
        assert (await laboratory.run(crawl)).state == "finished"
        return sorted(await column(crawl, KEPT))


def last_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@NETWORKS
def test_what_is_dehydrated_hydrates_to_the_same_posts(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, ids = (str(tmp_path / name) for name in ("first.db", "second.db", "ids.txt"))

    async def collect(laboratory: Laboratory) -> list[str]:
        return await collected(laboratory, COLLECT, laboratory.keys(), first)

    before = simulated(dialect, collect)
    assert run_command(["dehydrate", first, "--out", ids, "--json"]) == 0
    written = Path(ids).read_text("utf-8").split()
    assert last_json(capsys)["ids"] == len(written) == len(set(written)) > 50

    async def hydrate(laboratory: Laboratory) -> tuple[list[str], int]:
        async with laboratory.crawl(laboratory.plan('flow = "hydrate"', written, store=second)) as crawl:
            await laboratory.run(crawl)
            return sorted(await column(crawl, KEPT)), crawl.tally.size().calls

    after, calls = simulated(dialect, hydrate)
    # A repost on Bluesky is no post that could be asked for; what it passed on is.
    assert set(after) == {each for each in before if "app.bsky.feed.repost" not in each}
    assert calls < len(written) / 10
    assert run_command(["completeness", second, "--by", "id", "--json"]) == 0
    (posts,) = last_json(capsys)["id"]["lines"]
    assert (posts["captured"], posts["missing"]) == (len(written), []), "what is here is not called gone"


@pytest.mark.parametrize("dialect", ["x", *long("mastodon")])
def test_deleted_ids_are_reported_and_not_dehydrated_again(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (str(tmp_path / name) for name in ("first.db", "second.db"))

    async def collect(laboratory: Laboratory) -> list[str]:
        await collected(laboratory, COLLECT, laboratory.keys(), first)
        return laboratory.keys()

    simulated(dialect, collect, MOVING)
    run_command(["dehydrate", first])
    written = capsys.readouterr().out.split()

    async def hydrate(laboratory: Laboratory) -> set[str]:
        await collected(laboratory, 'flow = "hydrate"', written, second)
        service, now = laboratory.service, laboratory.clock.now()
        gone = set[str]()
        for number, key in enumerate(laboratory.keys()):
            posts = service.posts_to_find(key, START - timedelta(days=900), START, now)
            is_open = service.truth.is_available(number, now)
            gone |= {post for post, at in posts.items() if not is_open or (at is not None and at <= now)}
        return gone & set(written)

    lost = simulated(dialect, hydrate, MOVING, START + timedelta(days=3))
    run_command(["gone", second, "--what", "posts", "--out", str(tmp_path / "gone.txt"), "--json"])
    told = last_json(capsys)["posts"]
    names = {name.rpartition(":")[2].rpartition("/")[2] for name in (tmp_path / "gone.txt").read_text("utf-8").split()}
    assert len(lost) > 3
    assert lost <= names
    assert told["count"] == len(names)
    run_command(["dehydrate", second])
    assert set(capsys.readouterr().out.split()) & names == set()
    run_command(["status", second, "--json"])
    assert last_json(capsys)["gone"]["posts"] == len(names)


def web_address(dialect: str, laboratory: Laboratory, number: int) -> str:
    """A post's address as a browser shows it."""
    author = laboratory.service.dialect.handle_of(number % (1 << 22), START)
    key = laboratory.service.dialect.post_key(number)
    return {
        "mastodon": f"https://simulated.example/@{author}/{key}",
        "bluesky": f"https://bsky.app/profile/{author}/post/{key.rpartition('/')[2]}",
        "x": f"https://x.com/{author}/status/{key}",
        "twitter_v1": f"https://twitter.com/{author}/status/{key}?s=20",
        "weibo": f"https://m.weibo.cn/status/{key}",
    }[dialect]


@NETWORKS
def test_posts_are_found_by_the_address_a_browser_shows(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        service = laboratory.service
        rows = [row for account in range(40) if service.truth.is_available(account, START) for row in service.truth.posts(
            account, START - timedelta(days=8), START)]  # fmt: skip
        wanted = [row.number for row in rows if row.deleted_at is None and row.kind == 0 and row.visibility == "public"][:5]
        assert len(wanted) == 5
        addresses = [web_address(dialect, laboratory, number) for number in wanted]
        found = await collected(laboratory, 'flow = "hydrate"', addresses, ":memory:")
        assert {service.dialect.post_key(number) for number in wanted} <= {_key(each) for each in found}

    def _key(known_id: str) -> str:
        return known_id if known_id.startswith("at:") else known_id.rpartition(":")[2].rpartition("/")[2]

    simulated(dialect, work)


def test_the_address_of_a_post_on_another_server_is_refused_with_advice() -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "hydrate"', ["https://elsewhere.example/@ada/123"])
        async with laboratory.crawl(plan) as crawl:
            with raises_code(UserError, "seed_of_other_server") as caught:
                await laboratory.run(crawl)
            assert "elsewhere.example" in caught.value.problem
            assert "[[services]]" in caught.value.advice

    simulated("mastodon", work)


@NETWORKS
def test_what_is_stored_can_be_the_seeds_of_the_next_crawl(dialect: str, tmp_path: Path) -> None:
    first = str(tmp_path / "first.db")
    large = "select count(*) from users where followers > 8 and coalesce(is_protected, 0) = 0 and coalesce(opts_out, 0) = 0"

    async def work(laboratory: Laboratory) -> None:
        looking = 'flow.seeds = ["profile"]\nflow.facets.profile.ranker = "fifo"'
        async with laboratory.crawl(laboratory.plan(looking, laboratory.keys(), store=first)) as crawl:
            await laboratory.run(crawl)
            (expected,) = await column(crawl, large)
        choice = SeedQuery("users", "followers > 8 and not protected", first)
        plan = msgspec.structs.replace(laboratory.plan(COLLECT, ["1"]), seeds=SeedList(query=choice))
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            asked = await column(crawl, "select target from tasks where visits = 1")
        assert len(asked) == expected > 3
        followed = {key: len(laboratory.service.truth.followers(account, START)) for account, key in enumerate(laboratory.keys())}
        assert min(followed[key] for key in asked) > 6

    simulated(dialect, work)
