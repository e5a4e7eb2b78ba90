"""Weibo's answers as pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from provider_payloads import NOON, answer
from weibo_payloads import DELETED, person, read, remark, weibo_post

from bowerbird.model import Gone, Outcome, PostKind, Reading, Relation, RelationKind, Subject, Trend, UserTag
from bowerbird.providers.page import REPEATED
from bowerbird.providers.weibo.ids import to_mid

KEY = "3436164122209450"
TOTALS = {"previous_cursor": 0, "next_cursor": 0, "total_number": 400}


def refusal(code: int | str, error: str = "", status: int = 400, **headers: str) -> Any:
    return answer({"request": "/2/x.json", "error_code": code, "error": error}, status, **headers)


def test_a_profile_is_mapped_and_brings_its_newest_post() -> None:
    newest = {**weibo_post(), "user": None}
    page = read("profile", "1404376560", answer(person(status=newest)))
    user = page.users[0]
    assert (user.id, user.key, user.handle, user.name) == ("weibo:1404376560", "1404376560", "zaku1404376560", "zaku1404376560")
    assert (user.followers, user.following, user.posts, user.language) == (1204, 447, 2908, "zh-cn")
    assert user.created_at == datetime(2009, 8, 27, 16, tzinfo=UTC)
    assert user.newest_post_at == datetime(2012, 4, 18, 6, 0, 30, tzinfo=UTC)
    assert page.posts[0].author == user.id


@pytest.mark.parametrize(("letter", "gender"), [("m", "m"), ("f", "f"), ("n", ""), ("?", None), (None, None)])
def test_an_account_may_say_its_gender(letter: str | None, gender: str | None) -> None:
    assert read("profile", "1404376560", answer(person(gender=letter))).users[0].gender == gender


def test_a_post_is_mapped_with_topics_links_media_and_place() -> None:
    post = read("post", KEY, answer(weibo_post())).posts[0]
    assert (post.id, post.key, post.author, post.kind) == (f"weibo:{KEY}", KEY, "weibo:1404376560", PostKind.POST)
    assert post.created_at == post.listed_at == datetime(2012, 4, 18, 6, 0, 30, tzinfo=UTC)
    assert not post.is_time_doubtful
    assert (post.tags, post.links, post.source) == (("话题",), ("http://t.cn/abc",), "新浪微博")
    assert (post.reposts, post.replies, post.likes) == (1, 2, 3)
    assert (post.media[0].id, post.media[0].kind) == ("weibo:53b.jpg", "photo")
    assert post.place is not None
    assert (post.place.latitude, post.place.longitude) == (39.9, 116.4)
    assert post.url == f"https://weibo.com/1404376560/{to_mid(KEY)}"


def test_a_place_is_dropped_where_the_author_disabled_it_and_where_it_is_none() -> None:
    assert read("post", KEY, answer(weibo_post(user=person(geo_enabled=False)))).posts[0].place is None
    for geo in ("", [], {"coordinates": [139.9, 1]}, {"coordinates": ["x"]}):
        assert read("post", KEY, answer(weibo_post(geo=geo))).posts[0].place is None


def test_times_that_cannot_be_true_are_flagged() -> None:
    for claimed in ("Wed Apr 18 14:00:30 +0800 2007", "Wed Apr 18 14:00:30 +0800 2013"):
        post = read("post", KEY, answer(weibo_post(created_at=claimed))).posts[0]
        assert post.is_time_doubtful
        assert post.listed_at == datetime(2012, 4, 18, 6, 0, 30, tzinfo=UTC)


def test_a_repost_keeps_its_words_and_refers_to_the_root() -> None:
    page = read("timeline", "1", answer({"statuses": [weibo_post(retweeted_status=weibo_post("3355703951548132"))], **TOTALS}))
    posts = {post.key: post for post in page.posts}
    assert (posts[KEY].kind, posts[KEY].repost_of, posts[KEY].root) == (PostKind.REPOST, *["weibo:3355703951548132"] * 2)
    assert posts[KEY].text
    assert posts["3355703951548132"].kind is PostKind.POST


def test_a_deleted_original_is_gone_and_its_repost_stays() -> None:
    original = {"id": 33, "idstr": "33", "created_at": "…", "text": DELETED, "deleted": "1", "user": {"id": 5}}
    page = read("timeline", "1", answer({"statuses": [weibo_post(retweeted_status=original)], **TOTALS}))
    assert [post.repost_of for post in page.posts] == ["weibo:33"]
    assert page.gone == (Gone(Subject.POST, "33", Outcome.NOT_FOUND, is_stated=True),)
    assert page.broken == ()


def test_an_edited_post_tells_when() -> None:
    edited = weibo_post(edit_count=1, edit_at="Tue May 31 17:46:55 +0800 2022")
    page = read("posts", KEY, answer({"statuses": [edited]}))
    assert [post.edited_at for post in page.posts] == [datetime(2022, 5, 31, 9, 46, 55, tzinfo=UTC)]


def test_a_batch_tells_deleted_posts_by_their_text() -> None:
    gone = {"id": 7, "idstr": "7", "text": DELETED, "created_at": None, "user": None}
    page = read("posts", (KEY, "7", "8"), answer({"statuses": [weibo_post(), gone]}))
    assert [post.key for post in page.posts] == [KEY]
    assert {each.key for each in page.gone} == {"7", "8"}
    assert page.broken == ()


@pytest.mark.parametrize("kind", [1, 3, 4])
def test_what_is_not_public_is_never_kept(kind: int) -> None:
    page = read("post", KEY, answer(weibo_post(visible={"type": kind, "list_id": 0})))
    assert (page.outcome, page.posts) == (Outcome.PROTECTED, ())
    assert page.gone == (Gone(Subject.POST, KEY, Outcome.PROTECTED),)
    assert read("timeline", "1", answer({"statuses": [weibo_post(visible={"type": kind})]})).posts == ()


def test_ids_become_relations_until_the_cursor_is_zero() -> None:
    page = read("followers", "1", answer({"ids": [2, 3], "next_cursor": 5000, "previous_cursor": 0, "total_number": 668}))
    assert page.relations == (Relation(RelationKind.FOLLOW, "2", "1"), Relation(RelationKind.FOLLOW, "3", "1"))
    assert page.cursor == "5000/2"
    assert read("following", "1", answer({"ids": [4], "next_cursor": 0})).cursor is None
    assert read("followers", "1", answer({"ids": [], "next_cursor": 500}), cursor="400/300").cursor == "500/300"
    assert REPEATED in read("followers", "1", answer({"ids": [2], "next_cursor": 400}), cursor="400/300").detail


def test_an_era_ends_its_lists() -> None:
    body = answer({"ids": [2, 3], "next_cursor": 5})
    assert read("followers", "1", body, {"era": "minimal"}, cursor="498/498").cursor is None
    posts = answer({"statuses": [weibo_post(str(100 + n)) for n in range(5)], **TOTALS})
    assert read("timeline", "1", posts, {"era": "minimal"}).cursor is None
    assert read("timeline", "1", posts).cursor == "99/5"


def test_mutual_ids_are_relations_in_both_directions() -> None:
    page = read("mutuals", "1", answer({"ids": [2], "total_number": 1}))
    assert {(each.source, each.target) for each in page.relations} == {("1", "2"), ("2", "1")}


def test_short_pages_go_on_empty_ones_end_and_the_known_is_reached() -> None:
    short = answer({"statuses": [weibo_post("300"), weibo_post("200")], **TOTALS})
    assert read("timeline", "1", short).cursor == "199/2"
    assert read("timeline", "1", short).head == "300"
    assert read("timeline", "1", short, newest="200").cursor is None
    assert [post.key for post in read("timeline", "1", short, newest="200").posts] == ["300"]
    assert read("timeline", "1", answer({"statuses": [], **TOTALS}), cursor="199/2").cursor is None
    assert read("timeline", "1", answer({"statuses": [weibo_post("300")], "total_number": 1})).cursor is None


def test_comments_refer_to_their_post_and_to_the_comment_they_answer() -> None:
    answering = remark("5000", reply_comment={"id": 4000, "idstr": "4000"})
    page = read("thread", KEY, answer({"comments": [answering, remark("4000")], **TOTALS}))
    posts = {post.key: post for post in page.posts}
    assert (posts["5000"].kind, posts["5000"].reply_to, posts["5000"].root) == (PostKind.COMMENT, "weibo:4000", f"weibo:{KEY}")
    assert posts["4000"].reply_to == f"weibo:{KEY}"
    assert posts[KEY].kind is PostKind.POST
    assert page.cursor == "3999/2"
    bare = {key: value for key, value in remark("1").items() if key != "status"}
    assert read("thread", KEY, answer({"comments": [bare]})).posts[0].root == f"weibo:{KEY}"
    assert len(read("comments", ("1",), answer([bare])).broken) == 1


def test_tags_are_keyed_by_their_id() -> None:
    tags = [{"221012100001985342": "80后", "weight": 50}, {"7": "birds", "weight": "9", "flag": "0"}]
    assert read("tags", "5", answer(tags)).user_tags == (
        UserTag("5", "221012100001985342", "80后", 50),
        UserTag("5", "7", "birds", 9),
    )
    batch = read("tags", ("5", "6"), answer([{"id": 5, "tags": tags[:1]}, {"id": "6", "tags": []}, {"id": 7, "tags": [{}]}]))
    assert [tag.user for tag in batch.user_tags] == ["5"]
    assert len(batch.broken) == 1


def test_trends_are_ranked_in_the_order_given() -> None:
    body = {"trends": {"2011-09-19": [{"name": "a", "query": "a"}, {"name": "b", "amount": "12"}, {}]}, "as_of": 1316500000}
    page = read("trends", "daily", answer(body))
    assert page.trends == (Trend("a", 1), Trend("b", 2, volume=12))
    assert len(page.broken) == 1


def test_counters_may_come_as_strings() -> None:
    page = read("counts", ("1", "2"), answer([{"id": "1", "followers_count": "12", "friends_count": "3", "statuses_count": "4"}]))
    assert (page.users[0].followers, page.users[0].following, page.users[0].posts) == (12, 3, 4)
    assert page.gone == (Gone(Subject.USER, "2", Outcome.NOT_FOUND, True),)


def test_suggested_users_are_named_by_uid() -> None:
    page = read("people", "zaku", answer([{"screen_name": "zaku", "followers_count": 5, "uid": 12}]))
    assert [(user.id, user.handle) for user in page.users] == [("weibo:12", "zaku")]


def test_searches_go_on_by_page_number_up_to_their_reach() -> None:
    page = answer({"statuses": [weibo_post()], "total_number": 999})
    assert read("search", "x", page).cursor == "2/1"
    assert read("search", "x", page, cursor="4/199").cursor is None
    assert read("search", "x", answer({"statuses": []})).cursor is None


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (10001, Outcome.OVERLOADED),
        (10009, Outcome.OVERLOADED),
        (10005, Outcome.FORBIDDEN_SCOPE),
        (10014, Outcome.FORBIDDEN_SCOPE),
        (21335, Outcome.FORBIDDEN_SCOPE),
        (10020, Outcome.NOT_OFFERED),
        (10021, Outcome.NOT_OFFERED),
        (10006, Outcome.BAD_TOKEN),
        (21315, Outcome.BAD_TOKEN),
        (21327, Outcome.BAD_TOKEN),
        (21332, Outcome.BAD_TOKEN),
        (10022, Outcome.RATE_LIMITED),
        (10023, Outcome.RATE_LIMITED),
        (10024, Outcome.RATE_LIMITED),
        (20003, Outcome.NOT_FOUND),
        (20508, Outcome.PROTECTED),
        (10017, Outcome.BAD_REQUEST),
        (20501, Outcome.BAD_REQUEST),
        (99999, Outcome.BAD_REQUEST),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 403])
def test_the_code_in_the_body_decides_whatever_the_status(code: int, outcome: Outcome, status: int) -> None:
    for spelt in (code, str(code)):
        page = read("timeline", "1", refusal(spelt, "why", status))
        assert page.outcome is outcome
        assert str(code) in page.detail
        assert bool(page.gone) is outcome.is_about_target


def test_a_deleted_post_is_a_400() -> None:
    page = read("post", "9", refusal(20101, "target weibo does not exist!"))
    assert (page.outcome, page.gone) == (Outcome.NOT_FOUND, (Gone(Subject.POST, "9", Outcome.NOT_FOUND),))


def test_an_error_about_a_whole_batch_makes_none_of_it_gone() -> None:
    """It is asked for in smaller parts until it is clear whom it means."""
    page = read("profiles", ("1", "2"), refusal(20003))
    assert (page.outcome, page.gone) == (Outcome.BAD_REQUEST, ())


def test_a_refusal_empties_its_bucket_until_the_hour() -> None:
    date = "Mon, 05 Jan 2026 12:20:00 GMT"
    for code, limit in ((10023, 150), (10022, 10_000)):
        page = read("timeline", "1", refusal(code, status=403, date=date))
        assert page.reading == Reading(limit, 0, NOON + timedelta(hours=1))
    assert read("timeline", "1", refusal(10024, status=403)).reading is None
    assert read("timeline", "1", refusal(10024, "out of the day limit", 403)).outcome is Outcome.QUOTA_EXHAUSTED


def test_the_limits_are_read_in_beijing_time_or_in_seconds_left() -> None:
    body: dict[str, Any] = {
        "ip_limit": 10000, "limit_time_unit": "HOURS", "remaining_ip_hits": 10000, "remaining_user_hits": 120,
        "reset_time": "2026-01-05 21:00:00", "reset_time_in_seconds": 1415, "user_limit": 150,
    }  # fmt: skip
    one = NOON + timedelta(hours=1)
    assert read("limits", "all", answer(body)).reading == Reading(150, 120, one)
    assert read("limits", "all", answer({**body, "remaining_ip_hits": 7})).reading == Reading(10000, 7, one)
    seconds = read("limits", "all", answer({**body, "reset_time": None})).reading
    assert seconds == Reading(150, 120, NOON + timedelta(seconds=1415))
    epoch = read("limits", "all", answer({**body, "reset_time": "", "reset_time_in_seconds": int(one.timestamp())})).reading
    assert epoch == Reading(150, 120, one)
    assert read("limits", "all", answer({})).outcome is Outcome.UNREADABLE


def test_without_a_code_only_the_status_speaks_and_a_proxys_404_is_not_believed() -> None:
    for status, outcome in ((502, "overloaded"), (404, "unreadable"), (403, "forbidden_scope"), (414, "bad_request")):
        assert read("timeline", "1", answer(b"<html>", status)).outcome == outcome


def test_one_broken_item_loses_only_itself() -> None:
    page = read("timeline", "1", answer({"statuses": [weibo_post("5"), {"id": {}}, weibo_post("4", user={"id": "x"})], **TOTALS}))
    assert [post.key for post in page.posts] == ["5"]
    assert len(page.broken) == 2
    assert page.results == 3
