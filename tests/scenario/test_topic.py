"""Flow `topic` in virtual time: everything said under a hashtag and who said it, through a kill and days of downtime."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from power_cuts import run_until_killed

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.ports import Database
from bowerbird.reports.studies.overlap import Overlap, read_overlap
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup
from bowerbird.simulated.serving.pictures import Pictures, picture
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.content import visibility
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK
from bowerbird.simulated.world.posts.tags import tag_number
from bowerbird.simulated.world.settings import to_ms
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(seed=3, accounts=300, following=8.0, posts_per_day=6, history=timedelta(days=2), longest_history=20)
BUSY = structs.replace(WORLD, posts_per_day=30)
DAYTIME = START + timedelta(hours=9)
WITH_LISTS = 'flow.use = "topic"\nflow.facets.followers.on = true\nflow.facets.following.on = true'
"""On X they cost money, and must be switched on."""
TAG = "music"
STREAMS = {
    "x": f'channel = "filter"\nrules = ["#{TAG}"]',
    "twitter_v1": f'channel = "filter"\ntrack = ["#{TAG}"]',
    "mastodon": f'channel = "hashtag"\ntag = ["{TAG}"]',
}


def in_laboratory(work: Callable[[Laboratory], Awaitable[Any]], setup: Setup, start: datetime = START) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(setup, clock))

    return run_virtual(main, start=start)


async def column(database: Database, sql: str) -> list[Any]:
    async with database.reading() as tx:
        return [row[0] for row in await tx.fetch(sql)]


def said(laboratory: Laboratory, since: datetime) -> dict[str, str]:
    """Post and author of everything under the tag that a visitor can see now, in the service's own keys."""
    crowd, dialect = Crowd(laboratory.service.world), laboratory.service.dialect
    rows = crowd.posts(to_ms(laboratory.clock.now()), crowd.with_tag(tag_number(TAG)), oldest=to_ms(since))
    # Hashtag timelines of Mastodon leave out what is not listed.
    shown = ("public",) if dialect.name == "mastodon" else ("public", "unlisted", "private")
    found = {row.number: row.author for row in rows if visibility(row.number, WORLD.seed) in shown}
    return {dialect.post_key(number): dialect.account_key(author) for number, author in found.items()}


async def stored_keys(database: Database) -> set[str]:
    ids = await column(database, "select id from posts where deleted_at is null union select key from post_keys")
    return {key.removeprefix("x:") for key in ids}


async def targets(database: Database, facet: str, more: str = "") -> set[str]:
    sql = f"select t.target from tasks t join lanes l on l.lane = t.lane where l.facet = '{facet}' {more}"
    return set(await column(database, sql))


def authors(laboratory: Laboratory) -> set[str]:
    """Keys of everybody who ever wrote under the tag, whatever became of the post."""
    world, crowd = laboratory.service.world, Crowd(laboratory.service.world)
    found: set[int] = set()
    for index in range(world.calendar.first, world.calendar.index(to_ms(laboratory.clock.now())) + 1):
        day = world.calendar.day(index)
        found |= set((day.number[crowd.with_tag(tag_number(TAG))(day)] & AUTHOR_MASK).tolist())
    return {laboratory.service.dialect.account_key(account) for account in found}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def check_pictures(database: Database, folder: Path, pictures: Pictures) -> None:
    """Every picture of every post is on disk once, whole, and was given out once."""
    async with database.reading() as tx:
        rows = await tx.fetch("select id, url, state, sha256, bytes, path, attempts from media_files")
    shown = set(await column(database, "select id from media where kind in ('photo', 'image')"))
    kept = {row["id"]: row for row in rows if row["state"] == "kept"}
    assert shown
    assert set(kept) == shown
    files = contents(folder)
    assert files.keys() == {row["path"] for row in kept.values()}
    for row in kept.values():
        body = files[row["path"]]
        assert body == picture(row["url"])
        assert (row["sha256"], row["bytes"]) == (sha256(body).hexdigest(), len(body))
    assert max(pictures.given.values()) == 1
    assert sum(row["attempts"] > 1 for row in kept.values()) > 0


@pytest.mark.parametrize("dialect", ["bluesky", *long("x", "mastodon")])
def test_nothing_said_is_missing_after_a_kill_and_days_of_downtime(dialect: str, tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        laboratory.pictures = Pictures(laboratory.clock, trouble=0.2)
        more = f'stop.duration = "6h"\nmedia.folder = "{tmp_path / "media"}"'
        plan = laboratory.plan(WITH_LISTS, [f"#{TAG}"], more, store=str(tmp_path / "topic.db"))
        await run_until_killed(laboratory, plan, START + timedelta(minutes=1, seconds=7.3))
        await run_until_killed(laboratory, plan, START + timedelta(hours=3, minutes=0.4))
        await laboratory.clock.sleep_until(START + timedelta(days=4))
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            truth = said(laboratory, START)
            recent = said(laboratory, laboratory.clock.now() - timedelta(minutes=6))
            stored = await stored_keys(crawl.database)
            assert len(truth) > 40
            assert truth.keys() - stored - recent.keys() == set()
            await check_queues(crawl, authors(laboratory), truth, recent)
            await check_pictures(crawl.database, tmp_path / "media", laboratory.pictures)
            assert await column(crawl.database, "select count(*) from errors where part = 'media'") == [0]
        assert laboratory.service.limiter.refused == 0

    async def check_queues(crawl: Crawl, writers: set[str], truth: dict[str, str], recent: dict[str, str]) -> None:
        protected = "select id from users where is_protected = 1"
        hidden = {key.removeprefix("x:") for key in await column(crawl.database, protected)}
        for facet in ("profiles", "following", "followers"):
            asked = await targets(crawl.database, facet)
            # Nobody but authors: whoever was only answered, mentioned or quoted is not asked about.
            assert asked <= writers
            assert set(truth.values()) - asked - hidden - set(recent.values()) - await opted_out(crawl.database) == set()
            assert await targets(crawl.database, facet, "and t.visits = 0 and t.state <> 'waiting'") == set()
        known = await column(crawl.database, "select count(*) from users")
        assert known[0] > 2 * len(writers)
        if dialect != "mastodon":
            # Its hashtag timelines show no other post along.
            listed = "select count(*) from posts p where not exists (select 1 from sightings s where s.post_no = p.post_no)"
            assert (await column(crawl.database, listed))[0] > 0

    in_laboratory(work, Setup(dialect=dialect, world=WORLD, tokens=1, app_tokens=int(dialect != "bluesky")))


def test_on_weibo_the_newest_posts_of_a_topic_are_kept_up_with_and_their_authors_read() -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "topic"', [f"#{TAG}"], 'stop.duration = "1h"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            truth, recent = said(laboratory, DAYTIME), said(laboratory, laboratory.clock.now() - timedelta(minutes=6))
            stored = await column(crawl.database, "select id from posts where deleted_at is null")
            assert len(truth.keys() - recent.keys()) >= 3
            assert {f"weibo:{key}" for key in truth.keys() - recent.keys()} <= set(stored)
            # What was written before it began is listed too, 200 posts at most.
            assert len(truth) < len(stored)
            assert (await column(crawl.database, "select count(*) from sightings"))[0] <= 200 + len(truth)
            for facet in ("profiles", "following", "followers"):
                asked = await targets(crawl.database, facet)
                assert set(truth.values()) - set(recent.values()) <= asked <= authors(laboratory)
            assert await targets(crawl.database, "followers", "and t.visits > 0")
        assert laboratory.service.limiter.refused == 0

    in_laboratory(work, Setup(dialect="weibo", world=BUSY, tokens=1), DAYTIME)


ONCE = """
flow.seeds = ["search"]
flow.facets.search.ranker = "fifo"
flow.facets.followers.ranker = "repeat_first"
flow.edges = [{from = "search", to = "followers", take = "authors", when = "new_post and not along and not protected"}]
"""


def test_a_crawl_with_nothing_else_left_to_ask_waits_for_its_queues_to_be_rebuilt(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        store = str(tmp_path / "once.db")
        without = ONCE + "flow.facets.followers.on = false"
        async with laboratory.crawl(laboratory.plan(without, [TAG], store=store)) as crawl:
            await laboratory.run(crawl)
        async with laboratory.crawl(laboratory.plan(ONCE, [TAG], store=store)) as crawl:
            assert (await laboratory.run(crawl)).reason.code == "nothing_left"
            assert len(await targets(crawl.database, "followers", "and t.visits > 0")) > 20

    in_laboratory(work, Setup(dialect="x", world=WORLD))


async def opted_out(database: Database) -> set[str]:
    rows = await column(database, "select k.key from user_keys k join users u on u.user_no = k.user_no where u.opts_out = 1")
    return {*rows, *(key.removeprefix("x:") for key in await column(database, "select id from users where opts_out = 1"))}


def compared(dialect: str, hours: tuple[int, ...], store: str = ":memory:") -> tuple[Overlap, int]:
    """The report after runs of so many hours with two between them, and how many posts were written and can be seen."""

    async def work(laboratory: Laboratory) -> tuple[Overlap, int]:
        for number in range(len(hours)):
            if number:
                await laboratory.clock.sleep_until(laboratory.clock.now() + timedelta(hours=2))
            more = f'stop.duration = "{sum(hours[: number + 1])}h"\n[[streams]]\n{STREAMS[dialect]}\n'
            plan = laboratory.plan(WITH_LISTS, [f"#{TAG}"], more, store=store)
            async with laboratory.crawl(plan) as crawl:
                await laboratory.run(crawl)
                truth, recent = said(laboratory, DAYTIME), said(laboratory, laboratory.clock.now() - timedelta(minutes=6))
                async with crawl.database.reading() as tx:
                    found = await read_overlap(tx, plan.name), len(truth) - len(recent)
        return found

    setup = Setup(dialect=dialect, world=BUSY, tokens=1, app_tokens=1)
    found: tuple[Overlap, int] = in_laboratory(work, setup, DAYTIME)
    return found


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("x", "mastodon")])
def test_a_stream_beside_the_search_shows_that_search_misses_only_reposts_and_what_was_deleted(
    dialect: str,
) -> None:
    overlap, written = compared(dialect, (5,))
    total = overlap.total
    assert total.both >= written > 10
    assert total.search_only == 0
    assert total.stream_only == total.stream_only_reposts + total.stream_only_gone
    assert total.earlier > 50
    assert [source.is_stream for source in overlap.sources].count(True) == 1
    assert sum(day.both for day in overlap.days) == total.both


def test_what_was_said_while_nobody_listened_is_found_by_search_and_reported(tmp_path: Path) -> None:
    overlap, written = compared("mastodon", (1, 1), str(tmp_path / "both.db"))
    assert overlap.total.search_only >= 3
    assert overlap.total.stream_only == overlap.total.stream_only_gone
    assert overlap.total.search_only + overlap.total.both >= written


def test_what_search_will_be_asked_for_in_a_while_it_has_not_missed() -> None:
    async def work(laboratory: Laboratory) -> Overlap:
        flow = 'flow.use = "topic"\nflow.facets.hashtag.revisit = "1h"'
        plan = laboratory.plan(flow, [f"#{TAG}"], f'stop.duration = "4h55m"\n[[streams]]\n{STREAMS["mastodon"]}\n')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                return await read_overlap(tx, plan.name)

    total = in_laboratory(work, Setup(dialect="mastodon", world=BUSY, tokens=1, app_tokens=1), DAYTIME).total
    assert total.stream_only == 0
    assert total.later > 0
    assert total.both > 10


def lists_in_an_hour(tokens: int, app_tokens: int) -> int:
    async def work(laboratory: Laboratory) -> int:
        plan = laboratory.plan(WITH_LISTS, [f"#{TAG}"], 'stop.duration = "59m"')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            assert laboratory.service.limiter.refused == 0
            calls = await column(crawl.database, "select count(*) from calls where facet in ('followers', 'following')")
            waiting = await targets(crawl.database, "followers", "and t.visits = 0")
            assert waiting, "the lists must be what is short"
            return int(calls[0])

    world = structs.replace(WORLD, accounts=1_000)
    setup = Setup(dialect="x", world=world, tokens=tokens, app_tokens=app_tokens, scale=Scale(limits=0.01))
    return int(in_laboratory(work, setup))


def test_both_authentications_together_read_twice_as_many_lists() -> None:
    user, app, both = lists_in_an_hour(1, 0), lists_in_an_hour(0, 1), lists_in_an_hour(1, 1)
    assert user > 20
    assert both >= 0.95 * (user + app)


def test_a_queue_that_the_flow_got_later_knows_the_authors_found_before(tmp_path: Path, database_url: str) -> None:
    store = database_url if database_url != ":memory:" else str(tmp_path / "later.db")

    async def work(laboratory: Laboratory) -> None:
        without = 'flow.use = "topic"\nflow.facets.followers.on = false\nflow.facets.following.on = false'
        async with laboratory.crawl(laboratory.plan(without, [f"#{TAG}"], 'stop.duration = "1h"', store=store)) as crawl:
            await laboratory.run(crawl)
            authors = await targets(crawl.database, "profiles")
            assert len(authors) > 20
        # Nothing new is asked in the second run but what the stored posts lead to.
        late = f'{WITH_LISTS}\nflow.facets.search.revisit = "9d"\nflow.facets.hashtag.revisit = "9d"'
        async with laboratory.crawl(laboratory.plan(late, [f"#{TAG}"], 'stop.duration = "3h"', store=store)) as crawl:
            await laboratory.run(crawl)
            for facet in ("following", "followers"):
                assert await targets(crawl.database, facet, "and t.visits > 0") == authors - await hidden(crawl.database)
            first = await first_asked(crawl.database)
            posts = await posts_of(crawl.database)
            assert all(posts[one] >= 2 for one in first[: sum(count >= 2 for count in posts.values()) // 2])
            rebuilt = await column(crawl.database, "select done_at from rebuilds")
            assert len(rebuilt) == 3
            assert all(rebuilt)

    async def hidden(database: Database) -> set[str]:
        return {key.removeprefix("x:") for key in await column(database, "select id from users where is_protected = 1")}

    async def first_asked(database: Database) -> list[str]:
        return await column(database, "select targets from calls where facet = 'followers' order by call")

    async def posts_of(database: Database) -> dict[str, int]:
        async with database.reading() as tx:
            rows = await tx.fetch(
                "select substr(u.id, 3) as key, count(*) as n from sightings s join posts p on p.post_no = s.post_no "
                "join users u on u.user_no = p.author group by u.id"
            )
        return {row["key"]: row["n"] for row in rows}

    in_laboratory(work, Setup(dialect="x", world=WORLD))
