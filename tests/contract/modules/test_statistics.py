"""Prepared statistics, held against stores that were filled by hand: counted once, counted again when something goes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from store_pages import (
    FEDIVERSE,
    FOLLOWERS,
    HOME,
    POSTS,
    PROFILES,
    START,
    TIMELINE,
    Crawled,
    X,
    federated,
    followers,
    post,
    toot,
    user,
)  # fmt: skip

from bowerbird.clock import VirtualClock, run_virtual, to_micros
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, PostKind, Subject
from bowerbird.modules.statistics.preparing import Prepared, Preparing
from bowerbird.modules.statistics.tally import TOTALS, hashed, packed
from bowerbird.modules.statistics.work import Turn, ask_anew
from bowerbird.ports import Database
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.words.looking import Wanted
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.studies.keeper import Keeper
from bowerbird.studies.word_studies import create_study

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
            await database.create_tables()
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


def test_what_two_rows_of_one_person_counted_for_is_never_a_strangers(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        save, eve = scene.crawled.save, "https://home.example/users/eve"
        await save(Page(users=(federated("ada", "70"),)), PROFILES, service=FEDIVERSE)
        # Ada again, so far known by her key at home alone: the last row of all.
        await save(Page(users=(federated("bob", "8"),), posts=(toot("1", "bob", mentions=("7",)),)), TIMELINE, "8", service=HOME)
        await scene.prepare()
        guessed = (await scene.crawled.row("select max(user_no) as n from users"))["n"]
        assert await scene.top("mention") == {guessed: 1}
        await save(Page(users=(federated("ada", "7"),)), PROFILES, service=HOME)
        await save(Page(users=(federated("eve", "9"),)), PROFILES, service=HOME)
        known = await scene.crawled.rows("select id, user_no from users where network = 'mastodon' order by user_no")
        assert known[-1]["id"] == eve
        assert known[-1]["user_no"] not in await scene.top("mention")
        await scene.clock.sleep_until(scene.clock.now() + HOUR)
        await scene.prepare()
        assert await scene.top("mention") == {known[0]["user_no"]: 1}

    on(database_url, play)


def test_who_answered_the_forgotten_answers_nobody_else(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.prepare()
        one, two = await scene.number("1"), await scene.number("2")
        await Forgetter(scene.database, scene.clock).forget(Wish(who="u2", why="asked", users=frozenset({two})))
        later = Crawled(scene.database)
        async with scene.database.reading() as tx:
            page = await later.store.allowed(tx, Page(users=(user("9"),), posts=(post("9", "9"),)), X)
        await later.save(page, TIMELINE, "9")
        assert await scene.number("9") > two
        assert (await scene.crawled.row("select min(post_no) as n from posts where author <> ?", one))["n"] > 6
        await scene.clock.sleep_until(scene.clock.now() + HOUR)
        await scene.prepare()
        assert await scene.top("answered") == {}
        assert (await scene.told("friends"))["pairs"] == 0
        assert await scene.top("author") == {one: 3, await scene.number("9"): 1}

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


def test_numbers_that_cannot_be_made_are_tried_ever_later_and_studies_do_not_wait_for_them(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(scene: Scene) -> None:
        async with scene.database.transaction() as tx:
            await tx.execute(
                "insert into statistic_parts (subject, first, last, through, state, counted_at, body) "
                "values ('users', 1, 50000, 50000, 'counted', ?, 'broken')",
                to_micros(scene.clock.now()),
            )
            await ask_anew(tx, scene.clock.now())
        keeper = Keeper(scene.database, scene.clock)
        keeper.begin()
        await scene.clock.sleep_until(scene.clock.now() + timedelta(minutes=10))
        async with scene.database.transaction() as tx:
            await create_study(tx, "rain", Wanted(words=("rain",), unit=Unit.DAY), "ada", scene.clock.now())
        await scene.clock.sleep_until(scene.clock.now() + timedelta(seconds=20))
        assert await scene.crawled.count("word_studies", "state = 'done'") == 1
        await scene.clock.sleep_until(scene.clock.now() + timedelta(minutes=20))
        await keeper.end()

    on(database_url, play)
    tries = [record for record in caplog.records if record.name == "bowerbird.studies.keeper"]
    assert 5 <= len(tries) <= 15


def test_a_study_that_cannot_be_read_does_not_have_numbers_made_more_often(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(scene: Scene) -> None:
        async with scene.database.transaction() as tx:
            await create_study(tx, "rain", Wanted(words=("rain",), unit=Unit.DAY), "ada", scene.clock.now())
            await tx.execute("update word_studies set words = 'broken'")
        keeper = Keeper(scene.database, scene.clock)
        keeper.begin()
        await scene.clock.sleep_until(scene.clock.now() + timedelta(minutes=1))
        made = 0
        for _ in range(60):
            # Those of a small store stand for half a minute.
            await scene.clock.sleep_until(scene.clock.now() + timedelta(seconds=5))
            made += await scene.crawled.count("statistics", "true") > 0
            async with scene.database.transaction() as tx:
                await tx.execute("delete from statistics")
        assert 5 <= made <= 12
        await keeper.end()

    on(database_url, play)
    assert any(record.name == "bowerbird.studies.keeper" and "DecodeError" in record.getMessage() for record in caplog.records)
