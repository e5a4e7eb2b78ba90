"""Tags that users gave themselves, trends, labels, and times that cannot be true, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import PROFILES, START, TIMELINE, Crawled

from bowerbird.model import Facet, Gone, Media, Outcome, Page, Post, Subject, Trend, User, UserTag
from bowerbird.ports import Database

TAGS = Facet(name="tags", subject=Subject.USER, yields=frozenset({"user_tags"}), objects_per_call=20)
TRENDS = Facet(name="trends", subject=Subject.WORD, yields=frozenset({"trends"}))


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_a_tag_that_is_no_longer_listed_is_marked_and_comes_back(crawled: Crawled) -> None:
    both = (UserTag("1", "t1", "reading", 5), UserTag("1", "t2", "running"))
    assert (await crawled.save(Page(user_tags=both), TAGS, "1")).items_new == 2
    assert (await crawled.save(Page(user_tags=both[:1]), TAGS, "1")).items_new == 0
    sql = "select tag, name, weight, gone_at from user_tags order by tag"
    rows = [(row["tag"], row["name"], row["weight"], row["gone_at"] is None) for row in await crawled.rows(sql)]
    assert rows == [("t1", "reading", 5, True), ("t2", "running", None, False)]
    await crawled.save(Page(), TAGS, "1")
    assert all(row["gone_at"] is not None for row in await crawled.rows(sql))
    await crawled.save(Page(user_tags=both), TAGS, "1")
    assert all(row["gone_at"] is None for row in await crawled.rows(sql))


async def test_a_failed_look_marks_no_tag(crawled: Crawled) -> None:
    await crawled.save(Page(user_tags=(UserTag("1", "t1", "reading"),)), TAGS, "1")
    await crawled.save(Page(outcome=Outcome.OVERLOADED), TAGS, "1")
    assert [row["gone_at"] for row in await crawled.rows("select gone_at from user_tags")] == [None]


async def test_the_tags_of_a_deleted_account_leave_the_store(crawled: Crawled) -> None:
    await crawled.save(Page(user_tags=(UserTag("1", "t1", "reading"),)), TAGS, "1")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.NOT_FOUND),)), PROFILES, "1")
    assert await crawled.rows("select * from user_tags") == []


async def test_trends_are_kept_each_time_they_are_asked(crawled: Crawled) -> None:
    for _ in range(2):
        await crawled.save(Page(trends=(Trend("spring", 1, "23424977", 900), Trend("storm", 2, "23424977"))), TRENDS, "23424977")
    rows = await crawled.rows("select rank, word, volume from trends order by at, rank")
    assert [tuple(row.values()) if hasattr(row, "values") else tuple(row) for row in rows] == [
        (1, "spring", 900),
        (2, "storm", None),
    ] * 2


async def test_labels_roots_and_doubtful_times_are_kept(crawled: Crawled) -> None:
    post = Post(
        id="x:9",
        key="9",
        author="x:1",
        created_at=START + timedelta(days=900),
        listed_at=START,
        is_time_doubtful=True,
        text="from the future",
        root="x:2",
        labels=("spam",),
    )
    await crawled.save(Page(users=(User(id="x:1", key="1", labels=("bot",)),), posts=(post,)), TIMELINE, "1")
    (stored,) = await crawled.rows("select root, labels, is_time_doubtful, listed_at, created_at from posts")
    assert (stored["root"], stored["labels"], stored["is_time_doubtful"]) == ("x:2", '["spam"]', 1)
    assert stored["created_at"] > stored["listed_at"]
    assert [row["labels"] for row in await crawled.rows("select labels from users where id = 'x:1'")] == ['["bot"]']


async def test_one_picture_may_stand_in_many_posts_and_twice_in_one(crawled: Crawled) -> None:
    picture = Media(id="p1", kind="image", url="https://example.org/p1")
    again = Media(id="p1", kind="image", url="https://example.org/p1", description="once more")
    posts = (
        Post(id="x:1", key="1", author="x:1", media=(picture, again)),
        Post(id="x:2", key="2", author="x:1", media=(picture,)),
    )
    for _ in range(2):
        await crawled.save(Page(posts=posts), TIMELINE, "1")
    rows = await crawled.rows("select place, description from media order by post_no, place")
    assert [(row["place"], row["description"]) for row in rows] == [(1, None), (2, "once more"), (1, None)]
