"""Prepared statistics, held against stores that were filled by hand: counted once, counted again when something goes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from store_pages import FOLLOWERS, POSTS, PROFILES, START, TIMELINE, Crawled, followers, post, user

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, PostKind, Subject
from bowerbird.modules.statistics.preparing import Prepared, Preparing
from bowerbird.modules.statistics.tally import TOTALS, hashed, packed
from bowerbird.modules.statistics.work import Turn
from bowerbird.ports import Database

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


class Scene:
    """A store with two people who talk to each other, and a clock."""

    def __init__(self, database: Database, clock: VirtualClock) -> None:
        self.database, self.clock = database, clock
        self.crawled = Crawled(database)

    async def fill(self) -> Scene:
        await self.crawled.register()
        talk = (
            post("1", text="rain in Porto", tags=("rain",), language="pt", links=("https://www.example.org/a",)),
            post("2", "2", kind=PostKind.REPLY, reply_to="x:1", created_at=START + HOUR, text="yes", language="pt"),
            post("3", kind=PostKind.REPLY, reply_to="x:2", created_at=START + 2 * HOUR, text="oh", tags=("Rain",)),
            post("4", "2", kind=PostKind.REPLY, reply_to="x:3", created_at=START + DAY, text="no"),
            post("5", kind=PostKind.REPLY, reply_to="x:4", created_at=START + DAY, text="well", language="en"),
            post("6", "2", kind=PostKind.REPOST, repost_of="x:1", created_at=START + DAY, text=None),
        )
        people = (user("1", followers=10, following=2, posts=5), user("2", followers=0, following=300, posts=40))
        await self.crawled.save(Page(users=people, posts=talk), TIMELINE, "1")
        await self.crawled.save(Page(relations=followers("1", "2")), FOLLOWERS, "1")
        return self

    async def prepare(self, most: int = 1_000_000) -> Prepared:
        return await Preparing(self.database, self.clock).run(most)

    async def told(self, name: str) -> Any:
        async with self.database.reading() as tx:
            row = await tx.fetch_one("select body from statistics where name = ?", name)
        assert row is not None
        return json.loads(row["body"])

    async def total(self, name: str) -> int:
        return int((await self.told("totals"))["sums"].get(str(TOTALS.index(name)), 0))

    async def top(self, measure: str) -> dict[int, int]:
        return {key: n for key, n, _ in (await self.told(f"top {measure}")).get("0", [])}

    async def number(self, known: str) -> int:
        return int((await self.crawled.rows(f"select user_no from users where id = 'x:{known}'"))[0]["user_no"])


def on(url: str, play: Any) -> None:
    async def _play(clock: VirtualClock) -> None:
        database = await open_database(url, clock)
        try:
            await database.migrate()
            await play(await Scene(database, clock).fill())
        finally:
            await database.close()

    run_virtual(lambda clock: _play(clock))


def test_what_is_stored_is_counted(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        done = await scene.prepare()
        assert (done.posts, done.is_done) == (6, True)
        one, two = await scene.number("1"), await scene.number("2")
        assert await scene.top("tag") == {hashed("rain"): 2}
        assert await scene.top("domain") == {hashed("example.org"): 1}
        assert await scene.top("author") == {one: 3, two: 3}
        assert await scene.top("answered") == {one: 2, two: 2}
        assert await scene.top("reposted") == {one: 1}
        assert (await scene.total("posts"), await scene.total("replies"), await scene.total("reposts")) == (5, 4, 1)
        assert await scene.total("characters") == len("rain in Porto" + "yes" + "oh" + "no" + "well")
        friends = await scene.told("friends")
        assert friends == {"pairs": 1, "strongest": [[one, two, 2, 2]]}
        days = await scene.told("volumes day")
        assert len(days["times"]) == 2
        assert sum(map(sum, days["series"].values())) == 12
        languages = dict(map(tuple, (await scene.told("languages"))["all"]))
        assert languages == {packed("pt"): 2, packed("en"): 1}

    on(database_url, play)


def test_accounts_are_counted_by_their_profiles(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.prepare()
        people = await scene.told("people")
        followers_of = people["counters"]["followers"]
        assert (followers_of["least"], followers_of["most"], followers_of["total"]) == (0, 10, 10)
        assert followers_of["whose"] == await scene.number("1")
        assert (people["with_followers"], people["with_following"], people["with_posts"]) == (1, 0, 2)
        assert people["degrees"] == {"4 2": 1, "0 9": 1}

    on(database_url, play)


def test_a_run_goes_on_where_the_last_one_ended(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.prepare()
        await scene.crawled.save(Page(posts=(post("7", text="dry", tags=("sun",)),)), TIMELINE, "1")
        done = await scene.prepare()
        assert (done.posts, done.recounted) == (1, 0)
        assert await scene.top("tag") == {hashed("rain"): 2, hashed("sun"): 1}

    on(database_url, play)


@pytest.mark.parametrize("way", ["deleted", "opted out", "suspended"])
def test_what_is_gone_leaves_the_statistics(database_url: str, way: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.prepare()
        two = await scene.number("2")
        pages = {
            "deleted": Page(gone=(Gone(Subject.POST, "1", Outcome.NOT_FOUND), Gone(Subject.POST, "3", Outcome.NOT_FOUND))),
            "opted out": Page(users=(user("1", opts_out=True),)),
            "suspended": Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)),
        }
        await scene.crawled.save(pages[way], POSTS if way == "deleted" else PROFILES)
        await scene.clock.sleep_until(scene.clock.now() + HOUR)
        done = await scene.prepare()
        assert done.recounted >= 1
        assert await scene.top("tag") == {}
        assert await scene.top("link") == {}
        assert (await scene.told("friends"))["pairs"] == 0
        assert two in await scene.top("author")
        days = await scene.told("volumes day")
        assert sum(sum(values) for key, values in days["series"].items() if int(key) >= 0) == 6, "that there were posts stays"
        async with scene.database.reading() as tx:
            assert await tx.fetch("select * from statistic_recounts") == []
            states = {row["state"] for row in await tx.fetch("select state from statistic_parts")}
        assert states == {"counted"}, "the former count is removed"

    on(database_url, play)


def test_one_process_counts_at_a_time(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        other = Turn(scene.database, scene.clock)
        assert await other.take()
        assert (await scene.prepare()).is_taken
        await other.release()
        assert not (await scene.prepare()).is_taken

    on(database_url, play)


def test_a_bounded_run_says_that_something_is_left(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        assert not (await scene.prepare(most=1)).is_done
        assert (await scene.prepare()).is_done

    on(database_url, play)


def test_no_text_of_anybody_is_kept(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.prepare()
        async with scene.database.reading() as tx:
            bodies = [row["body"] for row in await tx.fetch("select body from statistics")]
            bodies += [row["body"] or "" for row in await tx.fetch("select body from statistic_parts")]
        assert not any(word in body for body in bodies for word in ("rain", "Porto", "example.org"))

    on(database_url, play)
