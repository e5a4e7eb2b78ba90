"""Users and posts in the store, on both databases."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta

import pytest
from store_pages import (
    FEDIVERSE,
    FOLLOWERS,
    FOLLOWING,
    OTHER,
    PROFILES,
    SKY,
    START,
    TIMELINE,
    Crawled,
    X,
    federated,
    followers,
    following,
    micros,
    post,
    toot,
    user,
)

from bowerbird.errors import StoreError
from bowerbird.model import Broken, Media, Page, Place, PostKind, Service, Subject, User
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.store import Store
from bowerbird.store.payloads.raw import SAMPLES
from failures import raises_code

DAY = timedelta(days=1)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_a_profile_is_new_once_and_says_its_counter_before_and_now(crawled: Crawled) -> None:
    first = await crawled.save(Page(users=(user("1", posts=5),)), PROFILES, "1")
    again = await crawled.save(Page(users=(user("1", posts=7),)), PROFILES, "1")
    same = await crawled.save(Page(users=(user("1", posts=7),)), PROFILES, "1")
    assert [(u.is_new, u.is_changed, u.posts_before, u.posts_now) for s in (first, again, same) for u in s.users] == [
        (True, True, None, 5),
        (False, True, 5, 7),
        (False, False, 7, 7),
    ]


async def test_a_counter_that_comes_along_with_posts_does_not_hide_news(crawled: Crawled) -> None:
    """Timelines carry the authors' counters, but of posts nobody has fetched yet: only a look-up of the profile settles them."""
    await crawled.save(Page(users=(user("1", posts=5),)), PROFILES, "1")
    await crawled.save(Page(users=(user("1", posts=7),), posts=(post("10", "2"),)), TIMELINE, "2")
    (looked_up,) = (await crawled.save(Page(users=(user("1", posts=7),)), PROFILES, "1")).users
    assert (looked_up.posts_before, looked_up.posts_now) == (5, 7)


@pytest.mark.parametrize("asked", ["2", "@Beth"])
async def test_a_counter_that_comes_along_with_the_profile_of_another_does_not_hide_news(crawled: Crawled, asked: str) -> None:
    """A profile may show its newest post, which passes on that of another, whose profile is inside: nobody asked about it."""
    await crawled.save(Page(users=(user("1", posts=5),)), PROFILES, "1")
    both = Page(users=(user("1", posts=7), user("2", handle="beth", posts=3)))
    await crawled.save(both, PROFILES, asked)
    looked_up, other = (await crawled.save(both, PROFILES, "1", "2")).users
    assert (looked_up.posts_before, looked_up.posts_now) == (5, 7)
    assert (other.posts_before, other.posts_now) == (3, 3)


async def test_a_crawl_that_does_nothing_about_counters_leaves_the_news_to_another_in_the_same_store(crawled: Crawled) -> None:
    watching, passing = crawled.store, Store(crawled.database, heeds_counters=False)
    await crawled.save(Page(users=(user("1", posts=5),)), PROFILES, "1")
    crawled.store = passing
    await crawled.save(Page(users=(user("1", posts=7), user("2", posts=1))), PROFILES, "1", "2")
    crawled.store = watching
    one, two = (await crawled.save(Page(users=(user("1", posts=7), user("2", posts=2))), PROFILES, "1", "2")).users
    assert [(each.posts_before, each.posts_now) for each in (one, two)] == [(5, 7), (1, 2)]


async def test_a_user_known_only_by_id_counts_as_new_when_the_profile_comes(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(post("10", "1", mentions=("2",)),)), TIMELINE, "1")
    stubs = await crawled.rows("select id, seen_at, found_by from users order by id")
    assert [(row["id"], row["seen_at"], row["found_by"]) for row in stubs] == [("x:1", None, 1), ("x:2", None, 1)]
    saved = await crawled.save(Page(users=(user("1"), user("2"))))
    assert [u.is_new for u in saved.users] == [True, True]
    assert await crawled.count("user_history") == 0


async def test_every_changed_field_of_a_profile_is_kept_with_the_call_that_saw_it(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", name="Ada", followers=1),)))
    await crawled.save(Page(users=(user("1", name="Ada L.", followers=2),)))
    row = await crawled.row("select at, call, before, after from user_history")
    assert (row["call"], row["at"]) == (2, micros(crawled.now))
    assert (json.loads(row["before"]), json.loads(row["after"])) == (
        {"followers": 1, "name": "Ada"},
        {"followers": 2, "name": "Ada L."},
    )


async def test_counters_are_always_current_but_make_history_at_most_once_a_day(crawled: Crawled) -> None:
    for count in range(50):
        await crawled.save(Page(users=(user("1", followers=count),), posts=(post("10", likes=count),)), TIMELINE, "1")
    assert (await crawled.row("select followers from users"))["followers"] == 49
    assert (await crawled.row("select likes from posts"))["likes"] == 49
    assert await crawled.count("user_history") == 2
    assert await crawled.count("post_history") == 2


async def test_what_a_service_does_not_say_overwrites_nothing(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", description="poet", followers=3),)))
    saved = await crawled.save(Page(users=(User(id="x:1", key="1", handle="u1"),)))
    row = await crawled.row("select description, followers, seen_by from users")
    assert (row["description"], row["followers"], row["seen_by"]) == ("poet", 3, 2)
    assert not saved.users[0].is_changed


async def test_an_item_listed_twice_is_saved_once_with_all_that_was_said(crawled: Crawled) -> None:
    saved = await crawled.save(
        Page(users=(user("1", name="Ada"), user("1", location="London")), posts=(post("10"), post("10"))), TIMELINE, "1"
    )
    row = await crawled.row("select name, location from users")
    assert (row["name"], row["location"]) == ("Ada", "London")
    assert (len(saved.users), len(saved.posts)) == (1, 1)


async def test_posts_come_back_with_everything_that_hangs_on_them(crawled: Crawled) -> None:
    picture = Media(id="m1", kind="photo", url="https://img.example/1.jpg", description="a cat")
    original = post(
        "10", tags=("Cats", "cats"), mentions=("7",), media=(picture,), links=("https://a.example",), place=Place(name="Porto"),
        edited_at=START, is_sensitive=False,
    )  # fmt: skip
    repost = post("11", "2", kind=PostKind.REPOST, repost_of="x:10", tags=("cats",), media=(picture,))
    saved = await crawled.save(Page(users=(user("1"),), posts=(repost, original)), TIMELINE, "2")
    assert [p.is_new for p in saved.posts] == [True, True]
    items = {item["id"]: item async for item in Reader(crawled.database).posts(with_raw=True)}
    stored = items["x:10"]
    assert (stored["tags"], stored["mentions"], stored["links"]) == (["cats"], ["x:7"], ["https://a.example"])
    assert stored["media"] == [{"id": "m1", "kind": "photo", "url": "https://img.example/1.jpg", "description": "a cat"}]
    assert stored["place"]["name"] == "Porto"
    assert (stored["author"], stored["author_handle"], stored["is_sensitive"], stored["edited_at"]) == ("x:1", "u1", False, START)
    assert stored["raw"] == original.raw
    assert (items["x:11"]["repost_of"], items["x:11"]["media"]) == ("x:10", [])


async def test_an_edit_is_history_and_replaces_the_tags(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(post("10", tags=("old",)),)), TIMELINE, "1")
    saved = await crawled.save(Page(posts=(post("10", text="better", tags=("new",)),)), TIMELINE, "1")
    assert not saved.posts[0].is_new
    assert [row["tag"] for row in await crawled.rows("select tag from post_tags")] == ["new"]
    row = await crawled.row("select before, after from post_history")
    assert (json.loads(row["before"]), json.loads(row["after"])) == ({"text": "text 10"}, {"text": "better"})


async def test_raw_payloads_are_read_back_before_and_after_a_dictionary_was_trained(crawled: Crawled) -> None:
    users = [
        user(str(n), raw=json.dumps({"id": n, "name": f"name {n % 7}", "about": "likes birds"}).encode())
        for n in range(1, SAMPLES + 301)
    ]
    for begin in range(0, len(users), 100):
        await crawled.save(Page(users=tuple(users[begin : begin + 100])))
    assert await crawled.count("dictionaries") == 1
    assert await crawled.count("users", "raw_dictionary is not null") == 300
    assert {item["id"]: item["raw"] async for item in Reader(crawled.database).users(with_raw=True)} == {
        u.id: u.raw for u in users
    }


async def test_a_dictionary_of_a_transaction_that_failed_is_never_used(crawled: Crawled) -> None:
    users = [
        user(str(n), raw=json.dumps({"id": n, "about": "likes birds", "n": n * 7919}).encode()) for n in range(1, SAMPLES + 1)
    ]
    async with crawled.database.transaction() as tx:
        await crawled.store._packer.prepare(tx)
    for item in users[:-1]:
        crawled.store._packer.pack(("x", Subject.USER), item.raw)
    with pytest.raises(RuntimeError):
        await _save_and_fail(crawled, Page(users=(users[-1],)))
    await crawled.save(Page(users=(users[0],)))
    row = await crawled.row("select raw_dictionary from users")
    assert (await crawled.count("dictionaries"), row["raw_dictionary"]) == (0, None)


async def _save_and_fail(crawled: Crawled, page: Page) -> None:
    async with crawled.database.transaction() as tx:
        await crawled.store.save(tx, page, service=X, tasks=[], facet=PROFILES, call=1, now=crawled.now)
        raise RuntimeError("the settle failed")


async def test_broken_items_are_set_aside_and_the_page_goes_on(crawled: Crawled) -> None:
    broken = Broken(Subject.POST, b'{"id": null}', "id: expected text, got null\0")
    saved = await crawled.save(Page(users=(user("1"),), broken=(broken,)))
    row = await crawled.row("select call, facet, subject, why, raw from quarantine")
    assert (row["call"], row["facet"], row["subject"], bytes(row["raw"])) == (1, "profiles", "post", broken.raw)
    assert row["why"] == "id: expected text, got null"
    assert len(saved.users) == 1


async def test_nothing_a_service_sends_is_refused_by_the_database(crawled: Crawled) -> None:
    nasty = user("1", name="nul\0 and \ud800", description="x" * 300_000, followers=2**70, posts=-(2**70), following=5)
    naive = user("2", created_at=datetime(2026, 1, 1))  # noqa: DTZ001
    endless = user("3" * 3_000)
    odd = post(
        "10", text="\0\udfff" + "é" * 300_000, likes=2**64, tags=("ok", "t" * 5_000, "n\0l"), mentions=("7", "\ud800"),
        media=(Media(id="m" * 5_000, kind="photo", url="u"), Media(id="m\0", kind="k", url="u")), reply_to="r" * 10_000,
        links=("https://a\0.example",), place=Place(name="\0x"),
    )  # fmt: skip
    saved = await crawled.save(Page(users=(nasty, naive, endless, user("4")), posts=(odd,)), TIMELINE, "1")
    assert [u.key for u in saved.users] == ["1", "4"]
    row = await crawled.row("select name, followers, posts, following from users where id = 'x:1'")
    assert (row["name"], row["followers"], row["posts"], row["following"]) == ("nul and ?", None, None, 5)
    assert await crawled.count("quarantine") == 2
    assert [r["tag"] for r in await crawled.rows("select tag from post_tags")] == ["ok"]
    assert (await crawled.row("select likes, reply_to from posts"))["likes"] is None


async def test_a_service_must_be_registered_first(crawled: Crawled) -> None:
    with raises_code(StoreError, "unknown_name") as caught:
        await crawled.save(Page(), service=Service(name="nowhere", provider="p", base="b"))
    assert "'nowhere'" in caught.value.problem


async def test_a_federated_user_known_by_key_gets_the_real_id_with_the_profile(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(toot("5", "ada", mentions=("77",)),)), TIMELINE, "1", service=FEDIVERSE)
    assert await crawled.count("users", "id = 'mastodon:mammoth/77'") == 1
    saved = await crawled.save(Page(users=(federated("bob", "77"),)), service=FEDIVERSE)
    assert saved.users[0].is_new
    ids = [row["id"] for row in await crawled.rows("select id from users order by id")]
    assert ids == ["https://home.example/users/ada", "https://home.example/users/bob"]
    mention = await crawled.row("select u.id from post_mentions m join users u on u.user_no = m.user_no")
    assert mention["id"] == "https://home.example/users/bob"


async def test_two_rows_of_one_federated_user_are_joined_when_it_turns_out(crawled: Crawled) -> None:
    bob = federated("bob", "3")
    await crawled.save(Page(users=(bob,)), service=OTHER)
    await crawled.save(Page(relations=following("9", "77", "78")), FOLLOWING, "9", service=FEDIVERSE)
    await crawled.save(Page(relations=followers("77", "9", "79")), FOLLOWERS, "77", service=FEDIVERSE)
    await crawled.save(Page(posts=(toot("5", "ada", mentions=("77",)),)), TIMELINE, "1", service=FEDIVERSE)
    saved = await crawled.save(Page(users=(federated("bob", "77"),)), service=FEDIVERSE)
    assert not saved.users[0].is_new
    number = (await crawled.row("select user_no from users where id = ?", bob.id))["user_no"]
    assert await crawled.count("users", "id = 'mastodon:mammoth/77'") == 0
    assert await crawled.count("relations", f"target = {number}") == 2
    assert await crawled.count("listings", f"user_no = {number}") == 1
    assert await crawled.count("post_mentions", f"user_no = {number}") == 1
    assert await crawled.count("user_keys", f"user_no = {number}") == 2


async def test_posts_of_one_author_on_two_servers_are_one_post_with_two_keys(crawled: Crawled) -> None:
    here = toot("5", "ada")
    await crawled.save(Page(posts=(here,)), TIMELINE, "1", service=FEDIVERSE)
    there = toot("5", "ada")
    saved = await crawled.save(Page(posts=(there,)), TIMELINE, "2", service=OTHER)
    assert not saved.posts[0].is_new
    assert (await crawled.count("posts"), await crawled.count("post_keys")) == (1, 2)


async def test_two_workers_that_find_the_same_people_at_once_agree(database: Database) -> None:
    workers = [await Crawled(database).register(), Crawled(database)]
    users = [user(str(n)) for n in range(60)]
    posts = [post(str(n), str(n), mentions=(str(n + 60),)) for n in range(60)]
    pages = [Page(users=tuple(users), posts=tuple(posts)), Page(users=tuple(users[::-1]), posts=tuple(posts[::-1]))]
    await asyncio.gather(*(worker.save(page, TIMELINE, "1") for worker, page in zip(workers, pages, strict=True)))
    assert (await workers[0].count("users"), await workers[0].count("posts")) == (120, 60)
    assert await workers[0].count("post_mentions") == 60


@pytest.mark.parametrize(("asked", "handle"), [(-30, "new.test"), (5, "new.test"), (600, "old.test")])
async def test_a_page_that_was_under_way_does_not_take_back_the_handle_a_stream_told(
    crawled: Crawled, asked: int, handle: str
) -> None:
    """Or one of a service that lags behind the stream; one asked for later is believed."""
    await crawled.save(Page(users=(User(id="did:a", key="did:a", handle="old.test"),)), PROFILES, "did:a", service=SKY)
    await crawled.hear(Page(users=(User(id="did:a", key="did:a", handle="new.test"),)))
    await crawled.leased(crawled.now + timedelta(seconds=asked), PROFILES)
    late = User(id="did:a", key="did:a", handle="old.test", name="Ada")
    await crawled.save(Page(users=(late,)), PROFILES, "did:a", service=SKY)
    row = await crawled.row("select handle, name from users where id = 'did:a'")
    assert (row["handle"], row["name"]) == (handle, "Ada")
