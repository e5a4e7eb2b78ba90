"""Seeds chosen from a store, what it keeps apart, and how often counters make history, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import (
    FEDIVERSE,
    FOLLOWING,
    OTHER,
    POSTS,
    PROFILES,
    SKY,
    TIMELINE,
    Crawled,
    X,
    federated,
    following,
    post,
    skeet,
    toot,
    user,
)

from bowerbird.errors import UserError
from bowerbird.flows.files.sections.seed_list import SeedQuery
from bowerbird.model import Gone, Outcome, Page, PostKind, Service, Subject
from bowerbird.ports import Database
from bowerbird.reports.deletions import AbsentUser, DeletedPost, EndedRelation, read_deletions
from bowerbird.reports.seeds.chosen import _statement, chosen
from bowerbird.store import Store
from failures import raises_code


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def choose(crawled: Crawled, text: str, service: Service = X) -> list[str]:
    what, _, where = text.partition(" where ")
    query = SeedQuery(what, where)
    return [key async for key in chosen(crawled.database, query.what, query.holds, service)]


async def test_a_query_chooses_accounts_by_what_their_profiles_say(crawled: Crawled) -> None:
    users = (
        user("1", followers=5000, language="pt"),
        user("2", followers=10, is_protected=True),
        user("3", is_bot=True),
        user("4", followers=9000, opts_out=True),
    )
    await crawled.save(Page(users=users, posts=(post("10", mentions=("9",)),)), PROFILES, "1", "2", "3", "4")
    assert await choose(crawled, "users") == ["1", "2", "3"]
    assert await choose(crawled, "users where followers > 1000") == ["1"]
    assert await choose(crawled, "users where protected or bot") == ["2", "3"]
    assert await choose(crawled, "users where followers is unknown and handle contains 'U'") == ["3"]
    assert await choose(crawled, "users where language in ['pt', 'en']") == ["1"]
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)), PROFILES, "1")
    assert await choose(crawled, "users") == ["2", "3"]


@pytest.mark.parametrize("what", ["posts", "users"])
async def test_the_key_of_each_thing_is_found_without_reading_all_keys(crawled: Crawled, what: str) -> None:
    if crawled.database.dialect != "sqlite":
        pytest.skip("the plan of an empty PostgreSQL table says nothing")
    plan = await crawled.rows(f"explain query plan {_statement(what, 1, 'mastodon')[0]}", 0, "mastodon")
    (keys,) = [str(row["detail"]) for row in plan if " k " in str(row["detail"])]
    assert "_no=?" in keys


async def test_a_query_chooses_posts_and_their_authors(crawled: Crawled) -> None:
    posts = (
        post("10", likes=3, text="the flood is near"),
        post("11", "2", kind=PostKind.REPLY, reply_to="x:10", likes=30),
        post("12", "2", kind=PostKind.REPOST, repost_of="x:10"),
        post("13", "1", text="a flood again"),
        post("14", "1", kind=PostKind.COMMENT, text="no post of its own"),
    )
    await crawled.save(Page(users=(user("1"), user("2")), posts=posts), TIMELINE, "1")
    assert sorted(await choose(crawled, "posts")) == ["10", "11", "12", "13"]
    assert await choose(crawled, "posts where reply or repost") == ["11", "12"]
    assert await choose(crawled, "posts where likes >= 3") == ["10", "11"]
    assert await choose(crawled, "authors where text contains 'Flood'") == ["1"]
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    assert sorted(await choose(crawled, "posts")) == ["11", "12", "13"]


async def test_keys_are_those_of_the_service_that_will_be_asked(crawled: Crawled) -> None:
    page = Page(users=(federated("ada", "501"),), posts=(toot("77", "ada"),))
    await crawled.save(page, TIMELINE, "501", service=FEDIVERSE)
    assert await choose(crawled, "users", FEDIVERSE) == ["501"]
    assert await choose(crawled, "posts", FEDIVERSE) == ["77"]
    assert await choose(crawled, "authors", FEDIVERSE) == ["501"]
    assert await choose(crawled, "users", OTHER) == []
    repost = skeet("did:a/app.bsky.feed.repost/2", kind=PostKind.REPOST)
    await crawled.save(Page(posts=(skeet("did:a/app.bsky.feed.post/1"), repost)), TIMELINE, "did:a", service=SKY)
    assert await choose(crawled, "posts", SKY) == ["at://did:a/app.bsky.feed.post/1"]
    with raises_code(UserError, "invalid") as caught:
        await choose(crawled, "users", Service(name="new", provider="mastodon", base="https://new.example"))
    assert "https://new.example" in str(caught.value)


async def test_what_is_gone_is_kept_apart_with_reason_and_time(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"), user("2")), posts=(post("10"),)), TIMELINE, "1")
    await crawled.save(Page(relations=following("1", "2", "3")), FOLLOWING, "1")
    first = crawled.now
    await crawled.save(Page(relations=following("1", "2")), FOLLOWING, "1")
    ended = crawled.now
    gone = (Gone(Subject.USER, "2", Outcome.SUSPENDED), Gone(Subject.USER, "3", Outcome.PROTECTED))
    await crawled.save(Page(gone=gone), PROFILES, "2", "3")
    lost = (Gone(Subject.POST, "10", Outcome.NOT_FOUND), Gone(Subject.POST, "99", Outcome.NOT_FOUND))
    await crawled.save(Page(gone=lost), POSTS, "10", "99")
    users = [line async for line in read_deletions(crawled.database, "users")]
    assert [(line.id, line.reason, line.until) for line in users if isinstance(line, AbsentUser)] == [
        ("x:2", "suspended", None),
        ("x:3", "protected", None),
    ]
    (relation,) = [line async for line in read_deletions(crawled.database, "relations")]
    assert relation == EndedRelation(source="x:1", target="x:3", kind="follow", after=first, before=ended, is_back=False)
    posts = [line async for line in read_deletions(crawled.database, "posts")]
    assert [(line.id, line.was_stored) for line in posts if isinstance(line, DeletedPost)] == [("x:10", True), ("x:99", False)]


@pytest.mark.parametrize(("every", "lines"), [(timedelta(days=1), 1), (timedelta(hours=3), 7), (timedelta(minutes=1), 15)])
async def test_counters_alone_make_history_as_seldom_as_is_asked(crawled: Crawled, every: timedelta, lines: int) -> None:
    crawled.store = Store(crawled.database, counters_every=every)
    for number in range(16):
        page = Page(users=(user("1", followers=number),), posts=(post("10", likes=number),))
        await crawled.save(page, PROFILES, "1", after=timedelta(hours=2))
    for table in ("user_history", "post_history"):
        assert await crawled.count(table) == lines
