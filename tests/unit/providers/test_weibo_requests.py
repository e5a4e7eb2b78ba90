"""Asks as requests to Weibo, ids and their short forms, eras, and what a person may write."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from weibo_payloads import weibo

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import Ask, Progress, Request, Secret
from bowerbird.providers import Weibo
from bowerbird.providers.weibo.facets import ERAS
from bowerbird.providers.weibo.ids import from_mid, made_at, to_mid
from failures import raises_code


def built(facet: str, *targets: str, hints: dict[str, str] | None = None, **progress: str) -> tuple[str, dict[str, str]]:
    request = weibo.request(Ask(facet, targets, Progress(**progress), hints or {}))
    return request.path, dict(request.query)


def test_a_profile_is_asked_for_by_id_by_name_or_by_domain() -> None:
    assert built("profile", "12") == ("/2/users/show.json", {"uid": "12"})
    assert built("profile", "@微博小秘书") == ("/2/users/show.json", {"screen_name": "微博小秘书"})
    assert built("profile", "@/zaku") == ("/2/users/domain_show.json", {"domain": "zaku"})


def test_batches_carry_their_ids_in_one_parameter() -> None:
    assert built("profiles", "1", "2") == ("/2/users/show_batch.json", {"uids": "1,2"})
    assert built("posts", "1", "2") == ("/2/statuses/show_batch.json", {"ids": "1,2", "isGetLongText": "1"})
    assert built("comments", "1", "2") == ("/2/comments/show_batch.json", {"cids": "1,2"})


def test_follower_ids_start_at_offset_zero_and_go_on_at_the_cursor() -> None:
    assert built("followers", "1") == ("/2/friendships/followers/ids.json", {"uid": "1", "count": "5000", "cursor": "0"})
    assert built("following", "1", cursor="5000/4980")[1]["cursor"] == "5000"


def test_a_revisit_asks_from_just_below_the_newest_known_post() -> None:
    query = built("timeline", "1", newest="1000", cursor="1990/100")[1]
    assert (query["since_id"], query["max_id"], query["count"]) == ("999", "1990", "100")
    assert set(built("timeline", "1")[1]) == {"uid", "count", "isGetLongText"}


def test_tags_of_one_user_and_of_many_have_their_own_paths() -> None:
    assert built("tags", "1")[0] == "/2/tags.json"
    assert built("tags", "1", "2") == ("/2/tags/tags_batch.json", {"uids": "1,2"})


def test_comments_are_the_thread_of_a_post() -> None:
    assert built("thread", "9", hints={"filter_by_author": "1", "password": "x"}) == (
        "/2/comments/show.json",
        {"id": "9", "count": "200", "filter_by_author": "1"},
    )


def test_an_era_chosen_as_a_hint_makes_pages_smaller() -> None:
    assert built("timeline", "1", hints={"era": "minimal"})[1] == {"uid": "1", "count": "5", "isGetLongText": "1"}
    assert built("followers", "1", hints={"era": "restricted"})[1]["count"] == "500"
    assert built("followers_list", "1", hints={"era": "restricted"})[1]["count"] == "200"


@pytest.mark.parametrize("era", ERAS)
def test_an_era_chosen_for_the_provider_is_its_table(era: str) -> None:
    facets = Weibo(era=era).facets
    most = {"classic": (5000, 200, None), "restricted": (500, 200, 500), "minimal": (5, 5, 500)}[era]
    lists = facets["followers"], facets["followers_list"]
    assert (lists[0].results_per_call, lists[1].results_per_call, lists[0].total_results) == most
    assert facets["timeline"].total_results == (5 if era == "minimal" else None)


def test_an_era_that_never_was_is_refused() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        Weibo(era="golden")
    assert all(value in str(caught.value) for value in ("'golden'", "classic", "restricted", "minimal"))


def test_every_call_counts_for_the_user_and_the_address_but_asking_for_the_limits_is_free() -> None:
    limits = weibo.facets["timeline"].limits
    assert [(limit.bucket, limit.allowance, limit.window.total_seconds()) for limit in limits] == [
        ("{service}/account:{account}/user", 150, 3600),
        ("{service}/address", 10_000, 3600),
    ]
    assert [limit.per_call for limit in weibo.facets["limits"].limits] == [0, 0]


def test_the_token_travels_in_a_header_and_never_in_the_address() -> None:
    signed = weibo.sign(weibo.request(Ask("profile", ("1",))), Secret(name="s", values={"access_token": "2.00secret"}))
    assert signed.headers["authorization"] == "OAuth2 2.00secret"
    assert "2.00secret" not in f"{signed.path}{signed.query}"
    with raises_code(CredentialError, "invalid_credential") as caught:
        weibo.sign(Request(path="/"), Secret(name="s"))
    assert "access_token" in caught.value.problem


@pytest.mark.parametrize(
    ("key", "mid"), [("3501756485200075", "z0JH2lOMb"), ("3436164122209450", None), ("10000000", "10000"), ("7", "7")]
)
def test_short_forms_lead_back_to_their_ids(key: str, mid: str | None) -> None:
    assert mid is None or to_mid(key) == mid
    assert from_mid(to_mid(key)) == key


@pytest.mark.parametrize("text", ["", "z0JH2lOM!", "ZZZZZZZZZZZZ", "00000"])
def test_what_is_no_short_form_has_no_id(text: str) -> None:
    assert from_mid(text) is None


def test_an_id_tells_its_second_unless_it_is_an_old_counter() -> None:
    assert made_at("3436164122209450") == datetime(2012, 4, 18, 6, 0, 30, tzinfo=UTC)
    assert made_at("5612814510546515338") is None
    assert made_at("1871821935") is None
    assert made_at("x") is None


@pytest.mark.parametrize(
    ("facet", "text", "target"),
    [
        ("profile", "1404376560", "1404376560"),
        ("followers", "weibo:12", "12"),
        ("profile", "微博小秘书", "@微博小秘书"),
        ("timeline", "https://weibo.com/n/zaku", "@zaku"),
        ("profile", "https://weibo.com/u/1404376560", "1404376560"),
        ("profile", "https://weibo.com/zaku", "@/zaku"),
        ("post", "z0JH2lOMb", "3501756485200075"),
        ("post", "https://weibo.com/1404376560/z0JH2lOMb?type=comment", "3501756485200075"),
        ("thread", "https://m.weibo.cn/status/3501756485200075", "3501756485200075"),
        ("hashtag", "#80后#", "80后"),
        ("nearby", "39.9, 116.4", "39.9,116.4"),
        ("trends", "daily", "daily"),
        ("limits", "all", "all"),
    ],
)
def test_people_may_write_ids_names_addresses_and_words(facet: str, text: str, target: str) -> None:
    assert weibo.target(text, weibo.facets[facet]) == target


@pytest.mark.parametrize(
    ("facet", "text", "named"),
    [
        ("followers", "@zaku", "'@zaku' `profile`"),
        ("profile", "not a name", "name' @alice"),
        ("post", "https://elsewhere.example/1/z0JH2lOMb", "z0JH2lOMb' weibo:123"),
        ("hashtag", "##", "'##' 100"),
        ("nearby", "Beijing", "'Beijing' latitude,longitude"),
        ("trends", "yearly", "'yearly' hourly, daily, weekly"),
    ],
)
def test_what_cannot_be_a_target_is_refused_with_advice(facet: str, text: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        weibo.target(text, weibo.facets[facet])
    assert facet in caught.value.problem
    assert all(value in str(caught.value) for value in named.split())
