"""Lists and their members, versions of posts and volumes of queries, as each network tells them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from bluesky_payloads import ALICE, BOB, actor, bluesky, bluesky_list
from bluesky_payloads import read as read_bluesky
from provider_payloads import account, answer, mastodon, read, twitter, user
from x_payloads import envelope, x, x_user

from bowerbird.model import Ask, Member, Outcome, UserList, Version, Volume
from bowerbird.providers.base import Provider

LIST_URI = f"at://{BOB}/app.bsky.graph.list/3mmlist222222"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def classic_list(**other: Any) -> dict[str, Any]:
    counts = {"member_count": 130, "subscriber_count": 763, "created_at": "Tue Feb 05 18:14:21 +0000 2013"}
    named = {"id": 84839422, "id_str": "84839422", "name": "Official", "description": "Ours", "mode": "public"}
    return {**named, **counts, "user": user("783214"), **other}


def test_a_bluesky_list_has_an_owner_and_a_purpose() -> None:
    page = read_bluesky("lists", BOB, answer({"lists": [bluesky_list(), bluesky_list()], "cursor": "2"}))
    assert page.lists == (
        UserList(id=LIST_URI, key=LIST_URI, owner=BOB, kind="curated", name="Birds", description="who sings", members=7),
    )
    assert ([one.id for one in page.users], page.cursor) == ([BOB], "2")


@pytest.mark.parametrize(
    "wrong", [{"uri": "at://x"}, {"uri": f"at://{BOB}/app.bsky.feed.post/3k"}, {"creator": actor(ALICE)}, {"creator": None}]
)
def test_a_bluesky_list_that_does_not_say_whose_it_is_is_quarantined(wrong: dict[str, Any]) -> None:
    page = read_bluesky("lists", BOB, answer({"lists": [bluesky_list(**wrong)]}))
    assert (page.lists, len(page.broken)) == ((), 1)


def test_members_of_a_bluesky_list_belong_to_it_even_if_their_profile_cannot_be_read() -> None:
    items = [{"subject": actor(ALICE)}, {"subject": actor(BOB, displayName=[7])}]
    page = read_bluesky("members", LIST_URI, answer({"items": items, "list": bluesky_list()}))
    assert page.members == (Member(LIST_URI, ALICE), Member(LIST_URI, BOB))
    assert (len(page.users), len(page.broken)) == (1, 1)


def test_lists_of_x_belong_to_the_account_asked_about_unless_it_says_otherwise() -> None:
    told = {"id": "7", "name": "Birds", "owner_id": "5", "follower_count": 2, "created_at": "2026-01-05T12:00:00.000Z"}
    page = read(x, "lists", "1", answer(envelope([told, {"id": "8"}], token="t1")))
    assert page.lists == (
        UserList(id="x:7", key="7", owner="5", name="Birds", followers=2, created_at=NOON),
        UserList(id="x:8", key="8", owner="1"),
    )
    assert page.cursor == "t1"


def test_an_account_without_lists_is_an_answer_and_not_an_error() -> None:
    assert read(x, "lists", "1", answer({"meta": {"result_count": 0}})).outcome is Outcome.OK
    assert read(x, "lists", "1", answer({"data": {"id": "7"}})).outcome is Outcome.UNREADABLE


def test_members_of_a_list_of_x_belong_to_it() -> None:
    page = read(x, "members", "7", answer(envelope([x_user("1"), {"id": "2", "name": []}])))
    assert page.members == (Member("7", "1"), Member("7", "2"))


def test_classic_lists_bring_their_owner() -> None:
    page = read(twitter, "lists", "783214", answer({"lists": [classic_list()], "next_cursor_str": "9"}))
    (found,) = page.lists
    assert (found.id, found.owner, found.name, found.members, found.followers) == ("x:84839422", "783214", "Official", 130, 763)
    assert found.created_at == datetime(2013, 2, 5, 18, 14, 21, tzinfo=UTC)
    assert ([one.key for one in page.users], page.cursor) == (["783214"], "9")


def test_classic_members_belong_to_a_list_named_by_id_only() -> None:
    body = {"users": [user("1")], "next_cursor_str": "0"}
    assert read(twitter, "members", "84839422", answer(body)).members == (Member("84839422", "1"),)
    assert read(twitter, "members", "alice/birds", answer(body)).members == ()


@pytest.mark.parametrize(
    ("provider", "body"),
    [(x, envelope([{"id": "7", "name": "Enemies", "private": True}])), (twitter, {"lists": [classic_list(mode="private")]})],
)
def test_private_lists_are_never_kept(provider: Provider, body: Any) -> None:
    page = read(provider, "lists", "1", answer(body))
    assert (page.outcome, page.lists, page.broken, page.results) == (Outcome.OK, (), (), 1)


def test_reposters_are_accounts_of_which_only_the_id_is_told() -> None:
    page = read(twitter, "reposters", "20", answer({"ids": ["5", 6, "x"], "next_cursor_str": "0"}))
    assert [(one.id, one.key, one.handle) for one in page.users] == [("x:5", "5", None), ("x:6", "6", None)]
    assert (page.results, page.cursor, len(page.broken)) == (3, None, 1)
    request = twitter.request(Ask("reposters", ("20",)))
    assert request.path == "/1.1/statuses/retweeters/ids.json"
    assert {("id", "20"), ("stringify_ids", "true"), ("cursor", "-1")} <= set(request.query)


def test_versions_of_an_edited_post_are_told_with_their_own_times() -> None:
    first = {"content": "<p>one</p>", "spoiler_text": "", "sensitive": False, "created_at": "2026-01-05T12:00:00.000Z"}
    second = {**first, "content": "<p>two</p>", "spoiler_text": "spoiler", "created_at": "2026-01-05T13:00:00.000Z"}
    bodies = [{**each, "account": account("1")} for each in (first, second)]
    page = read(mastodon, "versions", "100", answer([*bodies, {"content": "no time"}, {**first, "created_at": "then"}]))
    assert page.versions == (
        Version(post="100", at=NOON, text="one", is_sensitive=False),
        Version(post="100", at=NOON.replace(hour=13), text="two", warning="spoiler", is_sensitive=False),
    )
    assert len(page.broken) == 2
    assert mastodon.request(Ask("versions", ("100",))).path == "/api/v1/statuses/100/history"


def test_volumes_tell_how_many_posts_match_hour_by_hour() -> None:
    hour = {"start": "2026-01-05T11:00:00.000Z", "end": "2026-01-05T12:00:00.000Z"}
    body = {"data": [{**hour, "tweet_count": 7}, {**hour, "post_count": 8}, {**hour}, {"tweet_count": 1}]}
    page = read(x, "volumes", "birds", answer(body))
    assert page.volumes == tuple(Volume("birds", NOON.replace(hour=11), NOON, number) for number in (7, 8))
    assert len(page.broken) == 2
    request = x.request(Ask("volumes", ("birds",), hints={"granularity": "day", "limit": "5"}))
    assert (request.path, request.query) == ("/2/tweets/counts/recent", (("query", "birds"), ("granularity", "day")))


def test_volumes_and_trends_are_paid_by_the_call_and_lists_by_the_list() -> None:
    assert [(x.facets[name].limits[-1].per_call, x.facets[name].limits[-1].per_result) for name in ("volumes", "lists")] == [
        (5, 0),
        (0, 5),
    ]


def test_lists_may_be_asked_for_by_handle_where_the_network_takes_one() -> None:
    assert twitter.target("@alice", twitter.facets["lists"]) == "@alice"
    assert bluesky.target("alice.test", bluesky.facets["lists"]) == "@alice.test"
