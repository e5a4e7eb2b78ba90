"""Counters of accounts that came along with something else: three zeros are no count. On both databases."""

from __future__ import annotations

import pytest
from store_pages import FEDIVERSE, FOLLOWERS, PROFILES, TIMELINE, Crawled, federated, followers, toot

from bowerbird.model import Page, User
from bowerbird.ports import Database


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def ada(count: int) -> User:
    return federated("ada", "1", followers=count, following=count, posts=count)


async def counters(crawled: Crawled) -> list[int | None]:
    row = await crawled.row("select followers, following, posts from users where id = 'https://home.example/users/ada'")
    return [row[name] for name in ("followers", "following", "posts")]


async def test_zeros_that_come_along_neither_overwrite_a_count_nor_count_as_one(crawled: Crawled) -> None:
    beside = Page(users=(ada(0),), posts=(toot("10", "ada"),))
    await crawled.save(beside, TIMELINE, "1", service=FEDIVERSE)
    assert await counters(crawled) == [None, None, None]
    await crawled.save(Page(users=(ada(7),)), PROFILES, "1", service=FEDIVERSE)
    await crawled.save(beside, TIMELINE, "1", service=FEDIVERSE)
    await crawled.hear(beside, service=FEDIVERSE)
    listed = Page(users=(ada(0),), relations=followers("2", "1"))
    await crawled.save(listed, FOLLOWERS, "2", service=FEDIVERSE)
    assert await counters(crawled) == [7, 7, 7]
    assert await crawled.count("user_history") == 0


async def test_a_look_up_that_counts_nothing_is_believed(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(7),)), PROFILES, "1", service=FEDIVERSE)
    await crawled.save(
        Page(users=(ada(0), federated("bob", "2", followers=0, following=0, posts=0))), PROFILES, "1", service=FEDIVERSE
    )
    assert await counters(crawled) == [0, 0, 0]
    row = await crawled.row("select posts from users where id = 'https://home.example/users/bob'")
    assert row["posts"] is None


async def test_what_comes_along_with_a_count_is_kept(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(7),)), PROFILES, "1", service=FEDIVERSE)
    await crawled.save(Page(users=(ada(8),), posts=(toot("10", "ada"),)), TIMELINE, "1", service=FEDIVERSE)
    assert await counters(crawled) == [8, 8, 8]
