"""The kept counts of posts are what a recount finds, whatever happens to posts and accounts, on either database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from store_pages import HOME, POSTS, START, TIMELINE, Crawled, X, federated, micros, post, toot, user

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Gone, Outcome, Page, Post, PostKind, Progress, Subject, Task, User
from bowerbird.ports import Database, Transaction
from bowerbird.reports.completeness_accounts import count_posts, kept_counts
from bowerbird.store.absences.forgetting import forget_as_in
from bowerbird.store.posts.counts import MANY
from marks import long
from recounting import counted_accounts


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def many(author: str, first: int = 100, **fields: Any) -> tuple[Post, ...]:
    return tuple(
        post(str(first + place), author, created_at=START - timedelta(hours=13 * place), **fields) for place in range(MANY)
    )


class Fate:
    """Anything that can happen to a few accounts and their posts, by chance."""

    def __init__(self, crawled: Crawled, chance: Random) -> None:
        self._crawled, self._chance = crawled, chance

    async def happen(self) -> None:
        await self._chance.choice(
            (self._timeline, self._timeline, self._single, self._again, self._delete, self._stream, self._absence, self._opt_out)
        )()

    def _author(self) -> str:
        return str(self._chance.randint(1, 4))

    def _post(self, author: str) -> Post:
        key = f"{author}{self._chance.randint(0, 40):02}"
        written = START - timedelta(hours=self._chance.randint(-20, 900))
        is_doubtful = self._chance.random() < 0.2
        return post(
            key,
            author,
            kind=PostKind.REPOST if int(key) % 7 == 0 else PostKind.POST,
            created_at=None if int(key) % 11 == 0 and self._chance.random() < 0.5 else written,
            listed_at=written + timedelta(days=3) if is_doubtful or int(key) % 5 == 0 else None,
            is_time_doubtful=is_doubtful,
        )

    def _profile(self, author: str, **fields: Any) -> User:
        return user(author, posts=self._chance.randint(0, 60), **fields)

    async def _timeline(self) -> None:
        author = self._author()
        posts = {each.id: each for each in (self._post(author) for _ in range(16))}
        await self._crawled.save(Page(users=(self._profile(author),), posts=tuple(posts.values())), TIMELINE, author)

    async def _single(self) -> None:
        posts = {each.id: each for each in (self._post(self._author()) for _ in range(3))}
        await self._crawled.save(Page(posts=tuple(posts.values())), TIMELINE)

    async def _again(self) -> None:
        """The same post, of another author by now."""
        one = self._post(self._author())
        await self._crawled.save(Page(posts=(post(one.key, self._author(), created_at=one.created_at),)), POSTS, one.key)

    async def _delete(self) -> None:
        keys = {self._post(self._author()).key for _ in range(4)}
        await self._crawled.save(Page(gone=tuple(Gone(Subject.POST, key, Outcome.NOT_FOUND) for key in keys)), POSTS, *keys)

    async def _stream(self) -> None:
        """Posts, deletions and posts again in one transaction."""
        one, other = self._post(self._author()), self._post(self._author())
        gone = Gone(Subject.POST, one.key, Outcome.NOT_FOUND, is_stated=True)
        await self._crawled.hear(Page(posts=(one,)), Page(gone=(gone,)), Page(posts=(other,)), service=X)

    async def _absence(self) -> None:
        await self._crawled.save(Page(gone=(Gone(Subject.USER, self._author(), Outcome.SUSPENDED),)))

    async def _opt_out(self) -> None:
        author, opts_out = self._author(), self._chance.random() < 0.5
        await self._crawled.save(Page(users=(self._profile(author, opts_out=opts_out),)), TIMELINE, author)


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
async def test_whatever_happens_the_counts_are_those_of_a_recount(crawled: Crawled, seed: int) -> None:
    fate = Fate(crawled, Random(seed))
    for _ in range(40):
        await fate.happen()
    assert await counted_accounts(crawled.database)


@pytest.mark.parametrize("seed", [0, *long(1)])
async def test_kept_counts_say_of_every_counter_what_the_posts_say(crawled: Crawled, seed: int) -> None:
    chance = Random(seed)
    fate = Fate(crawled, chance)
    told = 0
    for _ in range(40):
        await fate.happen()
        at = micros(START) + chance.randint(-100, 900) * 3_600_000_000
        numbers = [row["user_no"] for row in await crawled.rows("select user_no from users")]
        since = timedelta(days=chance.choice((0, 0, 3)))
        async with crawled.database.reading() as tx:
            rows = await tx.fetch("select 1 as posts, c.* from post_counts c")
            read = await count_posts(crawled.database, tx, dict.fromkeys(numbers, at))
        found = {row["user_no"]: kept_counts(row, at, at + since // timedelta(microseconds=1)) for row in rows}
        kept = {number: counts for number, counts in found.items() if counts is not None}
        told += len(kept)
        for number, stored in kept.items():
            names = ("captured", "deleted", "counted", "reposts", "unconfirmed") + (("recent",) if since else ())
            assert [stored[name] for name in names] == [read[number][name] for name in names]
    assert told > 20


async def test_single_posts_cost_an_account_no_row_and_many_give_it_one(crawled: Crawled) -> None:
    for place in range(MANY + 1):
        await crawled.save(Page(posts=(post(f"9{place}", "1"),)), TIMELINE, "1")
    assert await counted_accounts(crawled.database) == {}
    await crawled.save(Page(posts=many("1")), TIMELINE, "1")
    assert [row["stored"] for row in (await counted_accounts(crawled.database)).values()] == [2 * MANY + 1]


async def test_two_rows_of_one_person_are_counted_anew(crawled: Crawled) -> None:
    toots = tuple(toot(str(place), "ada", created_at=START) for place in range(MANY))
    await crawled.save(Page(users=(federated("ada", "1"),), posts=toots), TIMELINE, "1", service=HOME)
    (ada,) = await counted_accounts(crawled.database)
    add = "insert into users (id, network, found_at, found_by) values ('mastodon:home/7', 'mastodon', 1, 1)"
    async with crawled.database.transaction() as tx:
        await tx.execute(add)
        (row,) = await tx.fetch("select user_no from users where id = 'mastodon:home/7'")
        await tx.execute("insert into user_keys (user_no, service, key) values (?, 4, '7')", row["user_no"])
    more = tuple(toot(str(50 + place), "ada", created_at=START) for place in range(MANY))
    await crawled.save(Page(users=(federated("ada", "7"),), posts=more), TIMELINE, "7", service=HOME)
    assert {number: row["stored"] for number, row in (await counted_accounts(crawled.database)).items()} == {ada: 2 * MANY}


async def test_what_another_store_knows_to_be_deleted_is_counted_as_deleted(crawled: Crawled) -> None:
    await crawled.save(Page(posts=many("1")), TIMELINE, "1")
    other = await open_database(":memory:", RealClock())
    await other.create_tables()
    async with other.transaction() as tx:
        await tx.execute("insert into deletions (subject, id, reason, at) values ('post', 'x:100', 'not_found', 1)")
    await forget_as_in(other, crawled.database, RealClock())
    await other.close()
    assert [row["deleted"] for row in (await counted_accounts(crawled.database)).values()] == [1]


async def test_pages_that_are_saved_at_once_are_all_counted(migrated_url: str) -> None:
    database = await open_database(migrated_url, RealClock())
    await database.create_tables()
    crawled = await Crawled(database).register()
    store = crawled.store

    async def save(call: int) -> None:
        first = 1000 * call
        page = store.clean(Page(posts=(*many("1", first), *many("2", first + 100), post(str(first + 500), "3"))))
        async with database.transaction() as tx:
            await store.save(tx, page, service=X, tasks=(), facet=TIMELINE, call=call, now=START + timedelta(hours=call))

    await crawled.save(Page(users=(user("1"), user("2"), user("3"))))
    await asyncio.gather(*(save(call) for call in range(10, 30)))
    await crawled.save(Page(posts=(*many("1"), *many("2", 200))), TIMELINE)
    accounts = await counted_accounts(database)
    await database.close()
    assert [row["stored"] for row in accounts.values()] == [21 * MANY, 21 * MANY]


@pytest.mark.parametrize("change", [Page(posts=(post("900", "1"),)), Page(gone=(Gone(Subject.POST, "1", Outcome.NOT_FOUND),))])
async def test_an_account_that_another_page_is_changing_gets_its_row_later(migrated_url: str, change: Page) -> None:
    database = await open_database(migrated_url, RealClock())
    await database.create_tables()
    crawled = await Crawled(database).register()

    async def save(tx: Transaction, page: Page, call: int) -> None:
        tasks = [Task(task=1, lane=1, target=gone.key, token=1, progress=Progress()) for gone in page.gone]
        await crawled.store.save(tx, page, service=X, tasks=tasks, facet=POSTS, call=call, now=START + timedelta(days=1))

    await crawled.save(Page(users=(user("1"),), posts=(post("1", "1"),)))
    async with database.transaction() as first:
        await save(first, change, 50)
        async with database.transaction() as second:
            await save(second, Page(posts=many("1")), 51)
    before = await counted_accounts(database)
    await crawled.save(Page(posts=many("1", 300)), TIMELINE)
    after = await counted_accounts(database)
    await database.close()
    assert (len(before), len(after)) == (0, 1)
