"""A Mastodon server's streams: how they are opened, and what their messages say."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from provider_payloads import account, answer, mastodon, status
from stream_payloads import event, frame, hear, listening

from bowerbird.errors import UserError
from bowerbird.model import Ask, Gone, KeyTime, NoticeKind, Opening, Outcome, PostKind, Subject, Wire
from bowerbird.providers.base import Provider
from bowerbird.providers.mastodon.stream import PLEROMA_KEYS, ULID_KEYS
from bowerbird.providers.streaming import Recent
from failures import raises_code

BIRDS = {"tag": ("#Birds", "trees")}
LATE = "109348677773283527"
STEPPED_BACK = str(((int(LATE) >> 16) - 60_000) << 16)
"""A minute earlier: posts of other servers may still be under way."""


def opened(channel: str, **options: tuple[str, ...]) -> Opening:
    step = mastodon.open(mastodon.subscription(channel, options), None, [])
    assert isinstance(step, Opening)
    return step


def test_the_provider_is_one_that_streams() -> None:
    assert isinstance(mastodon, Provider)


def test_every_stream_comes_over_both_wires_and_needs_a_users_token() -> None:
    for name, channel in mastodon.channels.items():
        assert channel.facet.name == name
        assert channel.wire is (Wire.EVENTS if name.endswith("_events") else Wire.WEBSOCKET)
        assert channel.silence == timedelta(seconds=45 if name.endswith("_events") else 90)
        assert channel.kinds == {"user"}
        assert not channel.has_cursor
    assert {name.removesuffix("_events") for name in mastodon.channels} == {
        "public",
        "local",
        "remote",
        "hashtag",
        "hashtag_local",
        "list",
    }


@pytest.mark.parametrize(
    ("channel", "options", "path", "query"),
    [
        ("public", {}, "/api/v1/streaming", {"stream": "public"}),
        ("local", {"only_media": ("true",)}, "/api/v1/streaming", {"stream": "public:local:media"}),
        ("remote", {}, "/api/v1/streaming", {"stream": "public:remote"}),
        ("list", {"list": ("7",)}, "/api/v1/streaming", {"stream": "list", "list": "7"}),
        ("public_events", {"only_media": ("true",)}, "/api/v1/streaming/public", {"only_media": "true"}),
        ("local_events", {}, "/api/v1/streaming/public/local", {}),
        ("hashtag_events", {"tag": ("birds",)}, "/api/v1/streaming/hashtag", {"tag": "birds"}),
        ("hashtag_local_events", {"tag": ("birds",)}, "/api/v1/streaming/hashtag/local", {"tag": "birds"}),
        ("list_events", {"list": ("7",)}, "/api/v1/streaming/list", {"list": "7"}),
    ],
)
def test_each_stream_has_its_address(channel: str, options: dict[str, tuple[str, ...]], path: str, query: dict[str, str]) -> None:
    request = opened(channel, **options).request
    assert (request.path, dict(request.query)) == (path, query)


def test_several_hashtags_share_one_socket() -> None:
    opening = opened("hashtag", **BIRDS)
    assert dict(opening.request.query) == {"stream": "hashtag", "tag": "birds"}
    assert [json.loads(each) for each in opening.greetings] == [{"type": "subscribe", "stream": "hashtag", "tag": "trees"}]


@pytest.mark.parametrize(
    ("channel", "options", "code", "named"),
    [
        ("hashtag", {}, "missing_value", "hashtag tag"),
        ("hashtag", {"tag": ("two words",)}, "invalid", "hashtag words'"),
        ("hashtag", {"tag": tuple(f"t{each}" for each in range(101))}, "too_many", "101 100"),
        ("hashtag_events", BIRDS, "too_many", "hashtag_events tag 2"),
        ("public", {"tag": ("birds",)}, "unknown_name", "public 'tag' only_media"),
        ("public", {"only_media": ("perhaps",)}, "invalid", "only_media 'perhaps' true false"),
        ("list", {"list": ("../x",)}, "invalid", "list '../x'"),
        ("home", {}, "unknown_name", "'home' public, local"),
    ],
)
def test_what_a_server_would_refuse_is_refused_with_advice(
    channel: str, options: dict[str, tuple[str, ...]], code: str, named: str
) -> None:
    with raises_code(UserError, code) as caught:
        mastodon.subscription(channel, options)
    assert all(value in str(caught.value) for value in named.split())


@pytest.mark.parametrize(
    ("channel", "options", "target", "query"),
    [
        ("public", {}, "all", {}),
        ("local", {"only_media": ("true",)}, "local:media", {"local": "true", "only_media": "true"}),
        ("remote_events", {}, "remote", {"remote": "true"}),
        ("hashtag", BIRDS, "birds,trees", {"any[]": "trees"}),
        ("hashtag_local", {"tag": ("birds",)}, "local:birds", {"local": "true"}),
    ],
)
def test_a_gap_is_filled_from_the_timeline_that_lists_the_same_posts(
    channel: str, options: dict[str, tuple[str, ...]], target: str, query: dict[str, str]
) -> None:
    fills = mastodon.channels[channel].fills
    (wanted,) = mastodon.fill_targets(mastodon.subscription(channel, options))
    assert mastodon.target(wanted, mastodon.facets[fills]) == wanted == target
    request = mastodon.request(Ask(fills, (wanted,)))
    assert dict(request.query) == {**query, "limit": "40"}
    assert request.path == ("/api/v1/timelines/tag/birds" if "hashtag" in channel else "/api/v1/timelines/public")


def test_a_list_cannot_be_filled() -> None:
    assert mastodon.channels["list"].fills == ""


@pytest.mark.parametrize("channel", ["public", "public_events"])
def test_statuses_come_with_their_authors_over_both_wires(channel: str) -> None:
    told = event if channel.endswith("_events") else frame
    heard = hear(mastodon, channel, told("update", status("100")), told("update", status(LATE)))
    (page,) = heard.pages
    assert [post.key for post in page.posts] == ["100", LATE]
    assert [user.key for user in page.users] == ["1"]
    assert (heard.events, heard.head, page.results) == (2, STEPPED_BACK, 2)
    assert heard.newest_at == datetime(2022, 11, 15, 16, 6, 48, 405000, tzinfo=UTC)


def test_signs_of_life_and_events_about_the_account_say_nothing() -> None:
    signs = (b"", b":)", b":thump", b"\r\n")
    assert hear(mastodon, "public_events", *signs, event("notification", {"id": "5"})).events == 0
    heard = hear(mastodon, "public", b"", frame("filters_changed", ""), frame("announcement", {"id": "1"}))
    assert (heard.events, heard.pages, heard.head, heard.newest_at) == (0, (), None, None)


def test_an_edit_is_saved_after_what_it_edits() -> None:
    edited = status("100", content="<p>Bye</p>", edited_at="2019-12-09T03:48:33.901Z")
    heard = hear(mastodon, "public", frame("update", status("100")), frame("status.update", edited))
    assert [page.posts[0].text for page in heard.pages] == ["Hello", "Bye"]
    assert heard.pages[1].posts[0].edited_at is not None


def test_a_post_that_comes_for_each_of_its_hashtags_is_saved_once() -> None:
    listener = listening(mastodon, "hashtag", **BIRDS)
    twice = listener.hear([frame("update", status("100")), frame("update", status("100"), stream=["hashtag"])])
    again = listener.hear([frame("update", status("100"))])
    assert (len(twice.pages), len(twice.pages[0].posts), twice.events) == (1, 1, 2)
    assert (again.pages, again.events) == ((), 1)


def test_a_deletion_comes_after_the_post_of_the_same_batch() -> None:
    heard = hear(mastodon, "public", frame("update", status("100")), frame("update", status("101")), frame("delete", "100"))
    assert [[post.key for post in page.posts] for page in heard.pages] == [["100", "101"], []]
    assert heard.pages[1].gone == (Gone(Subject.POST, "100", Outcome.NOT_FOUND),)
    assert heard.head == "100", "ids that tell no time: the first of the last minute"


def test_a_deletion_may_overtake_the_post() -> None:
    heard = hear(mastodon, "public_events", event("delete", "100"), event("update", status("100")))
    assert [len(page.gone) for page in heard.pages] == [1, 0]
    assert heard.pages[1].posts[0].key == "100"


def test_deletions_of_strangers_share_a_page_with_posts() -> None:
    heard = hear(mastodon, "public", frame("delete", "7"), frame("update", status("100")), frame("delete", "8"))
    (page,) = heard.pages
    assert [gone.key for gone in page.gone] == ["7", "8"]


def test_a_reply_refers_to_the_post_heard_before_it() -> None:
    messages = (frame("update", status("100")), frame("update", status("101", in_reply_to_id="100")))
    post = hear(mastodon, "public", *messages).pages[0].posts[1]
    assert (post.kind, post.reply_to) == (PostKind.REPLY, "https://m.example/users/user1/statuses/100")


def test_the_latest_word_about_a_user_counts() -> None:
    messages = [frame("update", status(key, account=account(statuses_count=posts))) for key, posts in (("100", 30), ("101", 31))]
    (page,) = hear(mastodon, "public", *messages).pages
    assert [user.posts for user in page.users] == [31]


def test_what_is_not_public_is_not_kept() -> None:
    heard = hear(mastodon, "list", frame("update", status("100", visibility="private")), list=("7",))
    assert (heard.events, heard.pages) == (1, ())


@pytest.mark.parametrize("form", [ULID_KEYS, PLEROMA_KEYS])
def test_a_listing_starts_a_minute_before_the_newest_post_whatever_the_ids(form: KeyTime) -> None:
    early, late = (form.key_at(datetime(2026, 1, 5, 12, minute, tzinfo=UTC)) for minute in (10, 20))
    heard = hear(mastodon, "public", *(frame("update", status(key)) for key in (late, early)))
    assert heard.head == form.key_at(datetime(2026, 1, 5, 12, 19, tzinfo=UTC))


def test_where_ids_tell_no_time_the_times_of_the_posts_do() -> None:
    times = {"a1": "12:00:00", "a2": "12:04:00", "a3": "12:04:50", "a4": "12:05:00"}
    listener = listening(mastodon, "public")
    told = [frame("update", status(key, created_at=f"2026-01-05T{at}.000Z")) for key, at in times.items()]
    assert listener.hear(told[:1]).head == "a1"
    assert listener.hear(told[1:]).head == "a2"


def test_a_message_that_cannot_be_read_loses_only_itself() -> None:
    messages = (b"garbage", frame("update", status("100", id=None)), frame("update", status("101")), frame("delete", ""))
    heard = hear(mastodon, "public", *messages)
    (page,) = heard.pages
    assert ([post.key for post in page.posts], len(page.broken), heard.events) == (["101"], 3, 4)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"error": "Unknown stream type", "status": 400}, Outcome.BAD_REQUEST),
        ({"error": "Access token does not have the required scopes", "status": 401}, Outcome.BAD_TOKEN),
        ({"error": "Internal error"}, Outcome.OVERLOADED),
    ],
)
def test_an_error_frame_ends_the_connection_with_its_reason(said: dict[str, object], outcome: Outcome) -> None:
    heard = hear(mastodon, "public", json.dumps(said).encode())
    assert (heard.closing, heard.events) == (outcome, 0)
    assert [(notice.kind, str(said["error"]) in notice.detail) for notice in heard.notices] == [(NoticeKind.CLOSING, True)]


@pytest.mark.parametrize(
    ("code", "body", "outcome", "words"),
    [
        (401, {"error": "Missing access token"}, Outcome.BAD_TOKEN, "Missing access token"),
        (401, {"error": "Access token does not have the required scopes"}, Outcome.FORBIDDEN_SCOPE, "scopes"),
        (400, {"error": "Unknown channel requested"}, Outcome.BAD_REQUEST, "Unknown channel"),
        (404, {"error": "Not found"}, Outcome.FORBIDDEN_SCOPE, "Not found"),
        (429, {"error": "Too many requests"}, Outcome.RATE_LIMITED, "Too many"),
        (200, {}, Outcome.UNREADABLE, ""),
        (502, b"<html>", Outcome.OVERLOADED, "502"),
    ],
)
def test_a_refusal_is_an_outcome(code: int, body: object, outcome: Outcome, words: str) -> None:
    page = mastodon.refused(mastodon.subscription("public", {}), answer(body, code))
    assert page.outcome is outcome
    assert words in page.detail


def test_a_limited_server_says_for_how_long() -> None:
    page = mastodon.refused(mastodon.subscription("public", {}), answer({"error": "x"}, 429, retry_after="30"))
    assert page.retry_after == timedelta(seconds=30)


def test_what_is_remembered_of_repeated_posts_is_bounded() -> None:
    recent = Recent(most=2)
    assert [recent.is_repeated(key) for key in ("a", "b", "a", "c", "b", "a")] == [False, False, True, False, False, False]
    assert not recent.is_repeated("a", 1)


def test_a_time_has_an_id_and_the_head_of_a_batch_is_one_of_a_minute_before_it() -> None:
    channel = mastodon.channels["hashtag"]
    heard = hear(mastodon, "hashtag", frame("update", status(LATE)), tag=("birds",))
    assert channel.key_time is not None
    assert heard.newest_at is not None
    assert heard.head == channel.key_time.key_at(heard.newest_at - channel.disorder)


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("Invalid access token", Outcome.BAD_TOKEN),
        ("Missing access token", Outcome.BAD_TOKEN),
        ("Access token does not have the required scopes", Outcome.FORBIDDEN_SCOPE),
    ],
)
def test_a_refusal_without_a_body_is_read_from_its_header(words: str, outcome: Outcome) -> None:
    found = mastodon.refused(mastodon.subscription("public", {}), answer(b"", 401, x_error_message=words))
    assert (found.outcome, found.detail) == (outcome, f"401 {words}")
