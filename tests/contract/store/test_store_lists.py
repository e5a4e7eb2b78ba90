"""Lists, memberships, versions of posts and volumes, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import FEDIVERSE, PROFILES, START, TIMELINE, Crawled, X, federated, post, user

from bowerbird.model import Facet, Gone, Member, Outcome, Page, Post, Subject, UserList, Version, Volume
from bowerbird.ports import Database

LISTS = Facet(name="lists", subject=Subject.USER, yields=frozenset({"lists"}))
MEMBERS = Facet(name="members", subject=Subject.WORD, yields=frozenset({"members", "users"}))
VERSIONS = Facet(name="versions", subject=Subject.POST, yields=frozenset({"versions"}))
VOLUMES = Facet(name="volumes", subject=Subject.WORD, yields=frozenset({"volumes"}))


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def birds(**other: object) -> UserList:
    return UserList(**{"id": "x:7", "key": "7", "owner": "1", "name": "Birds", "members": 3} | other)  # type: ignore[arg-type]


async def test_a_list_is_one_row_whose_unsaid_fields_stay(crawled: Crawled) -> None:
    await crawled.save(Page(lists=(birds(description="who sings"),)), LISTS, "1")
    await crawled.save(Page(lists=(birds(name="Songbirds", members=4, owner=None),)), LISTS, "1")
    row = await crawled.row("select l.*, u.id as owned_by from lists l join users u on u.user_no = l.owner")
    assert (row["name"], row["description"], row["members"], row["owned_by"]) == ("Songbirds", "who sings", 4, "x:1")
    assert (row["found_by"], row["network"]) == (1, "x")


async def test_who_is_on_a_list_is_known_even_before_the_list_itself(crawled: Crawled) -> None:
    members = (Member("7", "1"), Member("7", "2"), Member("7", "2"))
    await crawled.save(Page(users=(user("1"),), members=members), MEMBERS, "7")
    await crawled.save(Page(users=(user("1"),), members=members[:1]), MEMBERS, "7")
    await crawled.save(Page(lists=(birds(),)), LISTS, "1")
    rows = await crawled.rows(
        "select l.name, u.id, m.found_by, m.seen_at from list_members m join lists l on l.list_no = m.list_no "
        "join users u on u.user_no = m.user_no order by u.id"
    )
    assert [(row["name"], row["id"], row["found_by"]) for row in rows] == [("Birds", "x:1", 1), ("Birds", "x:2", 1)]
    assert rows[0]["seen_at"] > rows[1]["seen_at"]


async def test_a_member_known_by_two_names_stays_one_member(crawled: Crawled) -> None:
    await crawled.save(Page(members=(Member("7", "55"),), lists=(UserList(id="l", key="l", owner="55"),)), MEMBERS, "7",
                       service=FEDIVERSE)  # fmt: skip
    await crawled.save(Page(users=(federated("ada", "55"),)), PROFILES, "55", service=FEDIVERSE)
    sql = "select u.id from list_members m join users u on u.user_no = m.user_no"
    assert [row["id"] for row in await crawled.rows(sql)] == ["https://home.example/users/ada"]


async def test_versions_are_kept_once_for_posts_that_are_stored(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), posts=(post("9"),)), TIMELINE, "1")
    first, second = (Version(post="9", at=START + timedelta(hours=n), text=f"text {n}", is_sensitive=False) for n in (0, 1))
    stranger = Version(post="404", at=START, text="whose?")
    for _ in range(2):
        await crawled.save(Page(versions=(first, second, stranger)), VERSIONS, "9")
    rows = await crawled.rows("select text, warning, is_sensitive, call from post_versions order by at")
    assert [(row["text"], row["warning"], row["is_sensitive"], row["call"]) for row in rows] == [
        ("text 0", None, 0, 2),
        ("text 1", None, 0, 2),
    ]


async def test_versions_find_their_post_by_the_servers_own_key(crawled: Crawled) -> None:
    ada = federated("ada", "55")
    page = Page(users=(ada,), posts=(Post(id="https://home.example/1", key="100", author=ada.id, text="x"),))
    await crawled.save(page, TIMELINE, "55", service=FEDIVERSE)
    await crawled.save(Page(versions=(Version(post="100", at=START, text="y"),)), VERSIONS, "100", service=FEDIVERSE)
    assert await crawled.count("post_versions") == 1


async def test_versions_and_the_words_of_lists_leave_with_their_owner(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),), posts=(post("9"),), lists=(birds(),)), TIMELINE, "1")
    await crawled.save(Page(versions=(Version(post="9", at=START, text="regretted"),)), VERSIONS, "9")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)), PROFILES, "1")
    assert await crawled.count("post_versions") == 0
    row = await crawled.row("select id, name from lists")
    assert (row["id"], row["name"]) == ("x:7", None)


async def test_those_who_opted_out_keep_their_versions_and_lists_to_themselves(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", opts_out=True),), posts=(post("9"),)), TIMELINE, "1")
    await crawled.save(Page(versions=(Version(post="9", at=START, text="private"),), lists=(birds(),)), VERSIONS, "9")
    assert await crawled.count("post_versions") == 0
    assert (await crawled.row("select name from lists"))["name"] is None


async def test_a_later_count_replaces_an_earlier_one(crawled: Crawled) -> None:
    hour = timedelta(hours=1)
    for number in (3, 5):
        counted = (Volume("birds", START, START + hour, number), Volume("birds", START + hour, START + 2 * hour, 1))
        await crawled.save(Page(volumes=counted), VOLUMES, "birds")
    rows = await crawled.rows("select posts, call from volumes order by begins_at")
    assert [(row["posts"], row["call"]) for row in rows] == [(5, 2), (1, 2)]


async def test_what_no_database_takes_is_left_out_or_mended(crawled: Crawled) -> None:
    await crawled.save(
        Page(
            lists=(birds(id="x:\x008"), birds(id="", key=""), birds(name="B\x00\ud800"), birds(id="x:9", owner="x" * 700)),
            members=(Member("7", "\x00"), Member("", "2")),
            versions=(Version(post="\x00", at=START),),
            volumes=(Volume("\ud800", START, START, 1), Volume("y" * 700, START, START, 1)),
        ),
        LISTS,
        "1",
        service=X,
    )
    assert [row["name"] for row in await crawled.rows("select name from lists")] == ["B?"]
    assert await crawled.count("volumes") + await crawled.count("list_members") == 0
