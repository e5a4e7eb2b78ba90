"""Answers of the X API v2 as pages: both spellings, joins, errors beside data, outcomes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from provider_payloads import answer, read
from x_payloads import PROBLEMS, envelope, missing, referring, suspended, unauthorized, x, x_post, x_user

from bowerbird.model import Gone, Media, Outcome, Page, Place, Post, PostKind, Relation, RelationKind, Subject, Trend
from bowerbird.providers.page import REPEATED
from bowerbird.providers.x.billing import billed
from bowerbird.providers.x.facets import TABLES
from bowerbird.providers.x.reading.parse import usage

KEY = "1212092628029698048"
NEW_NAMES = {
    "referenced_tweets": "referenced_posts",
    "edit_history_tweet_ids": "edit_history_post_ids",
    "retweet_count": "repost_count",
    "tweet_count": "post_count",
    "most_recent_tweet_id": "most_recent_post_id",
    "note_tweet": "note_post",
    "tweets": "posts",
}


def respelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {NEW_NAMES.get(name, name): respelled(each) for name, each in value.items()}
    return [respelled(each) for each in value] if isinstance(value, list) else value


def one(**other: Any) -> Post:
    page = read(x, "post", KEY, answer({"data": x_post(**other), "includes": {"users": [x_user()]}}))
    return next(post for post in page.posts if post.key == KEY)


def test_a_user_is_mapped() -> None:
    user = read(x, "profile", "2244994945", answer({"data": x_user()})).users[0]
    assert (user.id, user.key, user.handle) == ("x:2244994945", "2244994945", "alice2244994945")
    assert (user.followers, user.following, user.posts) == (507902, 1863, 3561)
    assert (user.description, user.url, user.is_verified, user.is_protected) == (
        "birds & trees",
        "https://alice.example/",
        True,
        False,
    )
    assert user.newest_post_at == datetime(2019, 12, 31, 19, 26, 16, 771000, tzinfo=UTC)


def test_a_post_is_mapped() -> None:
    post = one()
    assert (post.id, post.author, post.kind, post.root) == (f"x:{KEY}", "x:2244994945", PostKind.POST, None)
    assert (post.text, post.tags, post.mentions, post.links) == (
        "Fish & chips #Birds",
        ("Birds",),
        ("7",),
        ("https://news.example/",),
    )
    assert (post.replies, post.reposts, post.likes) == (3, 7, 38)


def test_the_claimed_time_and_the_time_in_the_id_are_kept_apart() -> None:
    post = one()
    assert post.created_at == datetime(2019, 12, 31, 19, 26, 16, tzinfo=UTC)
    assert post.listed_at == datetime(2019, 12, 31, 19, 26, 16, 771000, tzinfo=UTC)
    assert not post.is_time_doubtful
    assert one(created_at="2021-01-01T00:00:00.000Z").is_time_doubtful
    assert one(created_at="1999-01-01T00:00:00.000Z").is_time_doubtful


@pytest.mark.parametrize(
    ("kind", "way", "field"),
    [
        (PostKind.REPLY, "replied_to", "reply_to"),
        (PostKind.QUOTE, "quoted", "quote_of"),
        (PostKind.REPOST, "retweeted", "repost_of"),
    ],
)
def test_what_a_post_refers_to_makes_its_kind(kind: PostKind, way: str, field: str) -> None:
    post = one(**referring(way, "50"))
    assert (post.kind, getattr(post, field)) == (kind, "x:50")


def test_a_repost_leaves_words_and_counters_to_the_original() -> None:
    page = read(
        x,
        "timeline",
        "2244994945",
        answer(envelope([x_post("100", text="RT @a: Fi…", **referring("retweeted", "50"))], tweets=[x_post("50")])),
    )
    repost, original = sorted(page.posts, key=lambda post: post.kind is not PostKind.REPOST)
    assert (repost.text, repost.likes, original.text) == (None, None, "Fish & chips #Birds")


def test_media_and_places_are_joined() -> None:
    video = {
        "media_key": "13_7",
        "type": "video",
        "alt_text": "a bird",
        "preview_image_url": "https://e.example/7.jpg",
        "variants": [
            {"bit_rate": 1, "url": "https://e.example/s"},
            {"bit_rate": 9, "url": "https://e.example/l"},
            {"url": "m3u8"},
        ],
    }
    post = x_post(
        attachments={"media_keys": ["13_7", "3_8"]},
        geo={"place_id": "p", "coordinates": {"type": "Point", "coordinates": [-8.6, 41.1]}},
    )
    porto = {"id": "p", "full_name": "Porto, Portugal", "country_code": "PT"}
    page = read(x, "post", KEY, answer({"data": post, "includes": {"media": [video], "places": [porto]}}))
    assert page.posts[0].media == (Media(id="x:7", kind="video", url="https://e.example/l", description="a bird"),)
    assert page.posts[0].place == Place(name="Porto, Portugal", country="PT", longitude=-8.6, latitude=41.1)


def test_long_posts_edits_roots_and_withheld_countries_are_read() -> None:
    post = one(
        note_tweet={"text": "longer", "entities": {"hashtags": [{"tag": "Long"}]}},
        edit_history_tweet_ids=["1212092600000000000", KEY],
        conversation_id="5",
        withheld={"copyright": False, "country_codes": ["XY"]},
    )
    assert (post.text, post.tags, post.root, post.labels) == ("longer", ("Long",), "x:5", ("withheld:XY",))
    assert post.edited_at == post.listed_at
    assert one().edited_at is None


def test_both_spellings_give_the_same_page() -> None:
    body = envelope(
        [
            x_post(**referring("replied_to", "50"), edit_history_tweet_ids=["1", KEY]),
            x_post("2", note_tweet={"text": "longer"}, **referring("retweeted", "50")),
        ],
        users=[x_user()],
        tweets=[x_post("50")],
        errors=[missing("tweet", "51", "referenced_tweets.id")],
    )
    old, new = (read(x, "timeline", "2244994945", answer(each)) for each in (body, respelled(body)))
    assert len(old.posts) == 3

    def bare(page: Page) -> list[Any]:
        return [
            {name: getattr(item, name) for name in item.__struct_fields__ if name != "raw"} for item in page.posts + page.users
        ]

    assert bare(old) == bare(new)
    assert old.gone == new.gone == (Gone(Subject.POST, "51", Outcome.NOT_FOUND),)


def test_followers_are_relations_with_profiles_and_a_short_page_goes_on() -> None:
    page = read(x, "followers", "9", answer(envelope([x_user("1"), x_user("2")], token="KFQ7D80IT44HGZZZ")))
    assert page.relations == (Relation(RelationKind.FOLLOW, "1", "9"), Relation(RelationKind.FOLLOW, "2", "9"))
    assert (len(page.users), page.results, page.cursor) == (2, 2, "KFQ7D80IT44HGZZZ")


def test_an_empty_page_has_no_data_and_may_still_go_on() -> None:
    assert read(x, "followers", "9", answer({"meta": {"result_count": 0}})) == Page()
    page = read(x, "search", "cats", answer({"meta": {"result_count": 0, "next_token": "b26v89c19zqg8o3f"}}))
    assert (page.outcome, page.cursor, page.results) == (Outcome.OK, "b26v89c19zqg8o3f", 0)


def test_a_token_that_comes_again_ends_the_list() -> None:
    page = read(x, "followers", "9", answer(envelope([x_user("1")], token="KFQ7D80IT44HGZZZ")), cursor="KFQ7D80IT44HGZZZ")
    assert page.cursor is None
    assert REPEATED in page.detail


def test_a_timeline_ends_at_the_known_posts_even_if_the_server_ignores_since_id() -> None:
    body = envelope([x_post("100"), x_post("90"), x_post("80")], token="b26v89c19zqg8o3f", users=[x_user()])
    page = read(x, "timeline", "2244994945", answer(body), newest="90")
    assert ([post.key for post in page.posts], page.cursor, page.head) == (["100"], None, "100")


def test_what_a_batch_lacks_is_gone_by_the_services_own_word() -> None:
    body = {"data": [x_user("1")], "errors": [missing("user", "2"), suspended("3"), unauthorized("user", "4")]}
    page = read(x, "profiles", ("1", "2", "3", "4", "5"), answer(body))
    assert page.outcome is Outcome.OK
    assert page.gone == (
        Gone(Subject.USER, "2", Outcome.NOT_FOUND),
        Gone(Subject.USER, "3", Outcome.SUSPENDED),
        Gone(Subject.USER, "4", Outcome.PROTECTED),
    )


def test_a_batch_may_be_nothing_but_errors() -> None:
    page = read(x, "posts", ("1", "2"), answer({"errors": [missing("tweet", "1"), unauthorized("tweet", "2")]}))
    assert [gone.reason for gone in page.gone] == [Outcome.NOT_FOUND, Outcome.PROTECTED]
    assert page.outcome is Outcome.OK


def test_handles_that_nobody_bears_are_gone_as_they_were_asked_for() -> None:
    body = {"data": [x_user("1")], "errors": [missing("user", "NoBody", "usernames")]}
    page = read(x, "handles", ("@alice1", "@nobody"), answer(body))
    assert page.gone == (Gone(Subject.USER, "@nobody", Outcome.NOT_FOUND),)


@pytest.mark.parametrize(
    ("facet", "error", "outcome"),
    [
        ("profile", missing("user", "9", "id"), Outcome.NOT_FOUND),
        ("timeline", suspended("9"), Outcome.SUSPENDED),
        ("followers", unauthorized("user", "9"), Outcome.PROTECTED),
        ("post", missing("tweet", "9", "id"), Outcome.NOT_FOUND),
        ("reposts", unauthorized("tweet", "9"), Outcome.PROTECTED),
        ("quotes", missing("post", "9", type="https://api.x.com/2/problems/resource-not-found"), Outcome.NOT_FOUND),
        ("members", missing("list", "9", "id"), Outcome.NOT_FOUND),
    ],
)
def test_a_200_that_says_the_target_is_not_to_be_had_is_that_outcome(facet: str, error: dict[str, Any], outcome: Outcome) -> None:
    page = read(x, facet, "9", answer({"errors": [error]}))
    assert page.outcome is outcome
    assert page.detail
    is_word = x.facets[facet].subject is Subject.WORD
    assert page.gone == (() if is_word else (Gone(x.facets[facet].subject, "9", outcome),))


def test_a_credential_is_refused_by_a_trial_only_where_it_is_the_wrong_one() -> None:
    """Who may not look up posts, for want of access, may ask other things."""
    wrong, other = ({"title": "Unauthorized"}, 401), (WRONG_KIND, 403)
    assert [x.credential_outcome(answer(*each))[0] for each in (wrong, other)] == [Outcome.BAD_TOKEN, Outcome.FORBIDDEN_SCOPE]
    assert x.credential_outcome(answer(NOT_ENROLLED, 403))[0] is Outcome.NOT_OFFERED
    assert x.credential_outcome(answer(missing("tweet", "1", "ids"), 200))[0] is Outcome.OK
    trial = x.credential_check("user")
    assert trial is not None
    assert (trial.request.path, [limit.is_money for limit in trial.facet.limits]) == ("/2/tweets", [False])


def test_a_200_with_errors_about_nothing_we_asked_is_tried_again() -> None:
    broken = {"errors": [{"title": "Internal Server Error", "type": PROBLEMS + "internal-error", "detail": "broken"}]}
    assert read(x, "timeline", "9", answer(broken)).outcome is Outcome.OVERLOADED
    page = read(x, "timeline", "9", answer({"errors": [missing("tweet", "51", "referenced_tweets.id")]}))
    assert (page.outcome, page.gone) == (Outcome.UNREADABLE, ())


def test_a_field_that_may_not_be_read_does_not_make_its_owner_gone() -> None:
    error = missing("tweet", KEY, type=PROBLEMS + "not-authorized-for-field", title="Field Authorization Error")
    page = read(x, "post", KEY, answer({"data": x_post(), "errors": [error]}))
    assert (page.outcome, page.gone, len(page.posts)) == (Outcome.OK, (), 1)


WINDOW = {"x_rate_limit_limit": "300", "x_rate_limit_reset": "1767614400"}
LEFT, NONE = {**WINDOW, "x_rate_limit_remaining": "299"}, {**WINDOW, "x_rate_limit_remaining": "0"}
PLAIN = {"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429}
CAPPED = {"title": "UsageCapExceeded", "period": "Monthly", "type": PROBLEMS + "usage-capped", "account_id": 123}
NOT_ENROLLED = {"title": "Client Forbidden", "reason": "client-not-enrolled", "type": PROBLEMS + "client-forbidden"}
WRONG_KIND = {"title": "Unsupported Authentication", "type": PROBLEMS + "unsupported-authentication"}
WRONG_ID = {"errors": [{"parameters": {"ids": ["a"]}, "message": "wrong"}], "title": "Invalid Request"}
BROKE = {"title": "CreditsDepleted", "type": PROBLEMS + "credits", "account_id": 2051096097834344448}


@pytest.mark.parametrize(
    ("status", "headers", "body", "outcome"),
    [
        (429, NONE, PLAIN, Outcome.RATE_LIMITED),
        (429, {}, {"errors": [{"code": 88, "message": "Rate limit exceeded"}]}, Outcome.RATE_LIMITED),
        (429, LEFT, PLAIN, Outcome.SECOND_LIMIT),
        (429, LEFT, CAPPED, Outcome.QUOTA_EXHAUSTED),
        (402, LEFT, BROKE, Outcome.QUOTA_EXHAUSTED),
        (402, {}, b"", Outcome.QUOTA_EXHAUSTED),
        (401, {}, {"title": "Unauthorized", "type": "about:blank", "status": 401}, Outcome.BAD_TOKEN),
        (403, {}, NOT_ENROLLED, Outcome.FORBIDDEN_SCOPE),
        (403, {}, WRONG_KIND, Outcome.FORBIDDEN_SCOPE),
        (400, {}, WRONG_ID, Outcome.BAD_REQUEST),
        (404, {}, missing("tweet", "9", "id"), Outcome.NOT_FOUND),
        (404, {}, b"<html>nginx</html>", Outcome.UNREADABLE),
        (500, {}, {"title": "Internal Server Error"}, Outcome.OVERLOADED),
        (503, {}, b"<html>", Outcome.OVERLOADED),
        (0, {}, b"", Outcome.UNANSWERED),
    ],
)
def test_refusals_are_normalised(status: int, headers: dict[str, str], body: Any, outcome: Outcome) -> None:
    page = read(x, "timeline", "9", answer(body, status, **headers))
    assert page.outcome is outcome
    assert page.gone == ((Gone(Subject.USER, "9", outcome),) if outcome is Outcome.NOT_FOUND else ())


def test_the_reset_is_read_as_epoch_seconds() -> None:
    reading = read(x, "followers", "9", answer({"meta": {"result_count": 0}}, **LEFT)).reading
    assert reading is not None
    assert (reading.limit, reading.remaining, reading.reset_at) == (300, 299, datetime(2026, 1, 5, 12, tzinfo=UTC))


def test_posts_of_protected_accounts_are_never_kept() -> None:
    body = {"data": [x_post()], "includes": {"users": [x_user(protected=True)], "tweets": [x_post("50")]}}
    page = read(x, "posts", (KEY,), answer(body))
    assert (page.posts, page.gone) == ((), (Gone(Subject.POST, KEY, Outcome.PROTECTED),))


def test_one_bad_item_loses_only_itself() -> None:
    page = read(x, "followers", "9", answer(envelope([x_user("1"), {"id": "2", "name": 7, "public_metrics": []}, x_user("3")])))
    assert [user.key for user in page.users] == ["1", "3"]
    assert len(page.broken) == 1
    assert [edge.source for edge in page.relations] == ["1", "3", "2"]


def test_a_lone_surrogate_loses_only_its_own_item() -> None:
    body = envelope([x_post("1"), x_post("2", text="LONE")], users=[x_user()])
    page = read(x, "search", "cats", answer(json.dumps(body).replace("LONE", "\\ud800").encode()))
    assert [post.key for post in page.posts] == ["1"]
    assert (len(page.broken), page.results, page.head) == (1, 2, "2")


def test_a_post_without_an_author_is_quarantined_where_authors_are_told() -> None:
    bare = {"id": "1", "text": "hello"}
    assert len(read(x, "search", "cats", answer(envelope([bare], users=[x_user()]))).broken) == 1
    assert read(x, "search", "cats", answer(envelope([bare]))).posts[0].author == "x:0"
    assert read(x, "timeline", "9", answer(envelope([bare]))).posts[0].author == "x:9"


@pytest.mark.parametrize("facet", ["followers", "timeline", "search", "people", "likes"])
@pytest.mark.parametrize("body", [{}, [], "x", None, {"data": 7}, {"data": {}}, {"meta": []}, {"data": [], "includes": []}])
def test_a_page_of_another_form_is_unreadable(facet: str, body: Any) -> None:
    assert read(x, facet, "9", answer(body)).outcome is Outcome.UNREADABLE


def test_trends_have_ranks_and_volumes() -> None:
    body = {"data": [{"trend_name": "#birds", "tweet_count": 7}, {"trend_name": "cats", "post_count": 3}, {"trend_name": 1}]}
    page = read(x, "trends", "1", answer(body))
    assert page.trends == (Trend("#birds", 1, "1", 7), Trend("cats", 2, "1", 3))
    assert len(page.broken) == 1


def test_usage_is_told_in_words_and_in_numbers() -> None:
    body = {"data": {"project_cap": "3000000", "project_usage": "12", "cap_reset_day": 1, "project_id": "5"}}
    page = read(x, "usage", "all", answer(body))
    assert re.findall(r"\d+", page.detail)[:2] == ["12", "3000000"]
    assert usage(json.dumps(body).encode()).project_usage == 12


def test_what_x_bills_is_named_alike_on_every_page_that_shows_it() -> None:
    users, posts = (b'{"id":"7"}', b'{"id":8}', b'{"name":"nobody"}'), (b'{"id":"9"}',)
    facets = TABLES["app"]
    assert billed(facets["profiles"], "7", users) == billed(facets["members"], "1", users) == ("user:7", "user:8")
    assert billed(facets["timeline"], "7", posts) == billed(facets["search"], "word", posts) == ("post:9",)
    assert billed(facets["followers"], "1", users[:1]) == ("followers:1:7",)
    assert billed(facets["trends"], "1", users) == ()
