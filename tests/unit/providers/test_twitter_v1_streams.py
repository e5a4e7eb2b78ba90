"""The classic API's streams: how they are opened, and what their lines say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
from provider_payloads import answer, tweet, twitter, user
from stream_payloads import hear, line, listening

from bowerbird.errors import UserError
from bowerbird.model import Gone, NoticeKind, Opening, Outcome, Page, PostKind, Request, Secret, Subject, WithdrawnPlaces
from bowerbird.providers.base import Provider
from failures import raises_code

LISBON = "-9.5,38.6,-9.0,38.9"
KEYS = ("consumer_key", "consumer_secret", "access_token", "access_token_secret")


def opened(channel: str, **options: tuple[str, ...]) -> Request:
    step = twitter.open(twitter.subscription(channel, options), None, [])
    assert isinstance(step, Opening)
    return step.request


def delete(key: str) -> bytes:
    return line({"delete": {"status": {"id": int(key), "id_str": key, "user_id": 3, "user_id_str": "3"}}})


def withheld(kind: str, key: str, *countries: str) -> bytes:
    return line({kind: {"id": int(key), "user_id": 3, "withheld_in_countries": list(countries)}})


def test_the_provider_is_one_that_streams() -> None:
    assert isinstance(twitter, Provider)


def test_the_channels_are_for_users_and_follow_the_networks_own_back_off() -> None:
    for channel in twitter.channels.values():
        assert (channel.kinds, channel.silence) == (frozenset({"user"}), timedelta(seconds=90))
        assert channel.lost.wait(3) == timedelta(milliseconds=750)
        assert channel.refused.wait(3) == timedelta(seconds=20)
        assert channel.limited.wait(3) == timedelta(minutes=4)


def test_a_filter_is_posted_as_a_form() -> None:
    request = opened("filter", track=("cats, big dogs", "emu"), follow=("x:12", "13"), locations=(LISBON, " 1, 2,3 ,4"))
    assert (request.method, request.path) == ("POST", "/1.1/statuses/filter.json")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(request.body.decode()) == {
        "track": ["cats,big dogs,emu"],
        "follow": ["12,13"],
        "locations": [f"{LISBON},1,2,3,4"],
        "stall_warnings": ["true"],
    }


def test_the_form_is_part_of_the_signature() -> None:
    secret = Secret(name="me", values=dict.fromkeys(KEYS, "k"))
    clocked = type(twitter)(now=lambda: datetime(2026, 1, 5, tzinfo=UTC), nonce=lambda: "once")
    cats, dogs = (clocked.sign(opened("filter", track=(word,)), secret).headers["authorization"] for word in ("cats", "dogs"))
    assert cats != dogs


def test_the_sample_has_no_options() -> None:
    request = opened("sample")
    assert (request.method, request.path, request.query) == ("GET", "/1.1/statuses/sample.json", (("stall_warnings", "true"),))


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        ({}, "missing_value", "track, follow, locations"),
        ({"track": (" , ",)}, "missing_value", "track, follow, locations"),
        ({"track": tuple(f"w{each}" for each in range(401))}, "too_many", "401 400"),
        ({"track": ("é" * 31,)}, "too_large", "é' 60"),
        ({"follow": ("alice",)}, "invalid", "'alice' `profile`"),
        ({"follow": tuple(str(each) for each in range(5001))}, "too_many", "5001 5,000"),
        ({"locations": tuple(f"{each},0,{each + 1},1" for each in range(26))}, "too_many", "26 25"),
        ({"locations": ("38.6,-9.5",)}, "invalid", "'38.6,-9.5'"),
        ({"locations": ("-9.0,38.6,-9.5,38.9",)}, "invalid", "'-9.0,38.6,-9.5,38.9'"),
        ({"locations": ("nan,0,1,1",)}, "invalid", "'nan,0,1,1'"),
        ({"words": ("cats",)}, "unknown_name", "'words' track, follow, locations"),
    ],
)
def test_what_the_network_would_refuse_is_refused_with_advice(options: dict[str, tuple[str, ...]], code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        twitter.subscription("filter", options)
    assert all(value in str(caught.value) for value in named.split())


def test_a_gap_in_tracked_words_is_filled_by_a_search() -> None:
    track = twitter.subscription("filter", {"track": ["big dogs", "cats"]})
    assert twitter.fill_targets(track) == ("(big dogs) OR (cats)",)
    assert twitter.fill_targets(twitter.subscription("filter", {"track": ["cats"], "follow": ["12"]})) == ()
    many = twitter.fill_targets(twitter.subscription("filter", {"track": [f"{each:060}" for each in range(9)]}))
    assert [search.count(" OR ") for search in many] == [6, 1]
    assert all(len(search) <= 500 for search in many)
    assert (twitter.channels["filter"].fills, twitter.channels["sample"].fills) == ("search", "")


def test_posts_come_with_what_they_pass_on() -> None:
    heard = hear(twitter, "sample", line(tweet("100", retweeted_status=tweet("50", user=user("7")))), line(tweet("101")))
    (page,) = heard.pages
    assert [(post.key, post.kind) for post in page.posts] == [
        ("50", PostKind.POST),
        ("100", PostKind.REPOST),
        ("101", PostKind.POST),
    ]
    assert {person.key for person in page.users} == {"7", "783214"}
    assert (heard.events, heard.head, heard.newest_at) == (2, "101", datetime(2012, 11, 8, 2, 31, 41, tzinfo=UTC))


def test_what_comes_twice_is_saved_once() -> None:
    listener = listening(twitter, "sample")
    assert len(listener.hear([line(tweet("100")), line(tweet("100"))]).pages[0].posts) == 1
    assert listener.hear([line(tweet("100"))]).pages == ()


def test_a_deletion_counts_even_if_it_comes_first() -> None:
    heard = hear(twitter, "sample", delete("100"), line(tweet("100")), delete("100"))
    assert [(len(page.posts), page.gone) for page in heard.pages] == [
        (0, (Gone(Subject.POST, "100", Outcome.NOT_FOUND),)),
        (1, ()),
        (0, (Gone(Subject.POST, "100", Outcome.NOT_FOUND),)),
    ]
    assert heard.events == 3


def test_limit_notices_tell_how_many_posts_were_held_back() -> None:
    heard = hear(twitter, "sample", line({"limit": {"track": 1234}}), line({"limit": {"track": 1300}}))
    assert [(notice.kind, notice.missing) for notice in heard.notices] == [
        (NoticeKind.UNDELIVERED, 1234),
        (NoticeKind.UNDELIVERED, 1300),
    ]
    assert (heard.events, heard.pages) == (0, ())


def test_a_stall_warning_says_that_we_are_slow() -> None:
    warning = {"code": "FALLING_BEHIND", "message": "Your connection is falling behind", "percent_full": 60}
    (notice,) = hear(twitter, "sample", line({"warning": warning})).notices
    assert notice.kind is NoticeKind.SLOW
    assert "60 % full" in notice.detail


def test_places_to_be_forgotten_are_told() -> None:
    scrub = {"user_id": 14090452, "user_id_str": "14090452", "up_to_status_id": 23260136625, "up_to_status_id_str": "23260136625"}
    assert hear(twitter, "sample", line({"scrub_geo": scrub})).pages == (
        Page(withdrawn_places=(WithdrawnPlaces("14090452", "23260136625"),), results=1),
    )


def test_what_is_withheld_everywhere_is_gone() -> None:
    (page, later) = hear(
        twitter, "sample", withheld("status_withheld", "100", "XX"), withheld("user_withheld", "7", "XY", "DE")
    ).pages
    assert page.gone == (Gone(Subject.POST, "100", Outcome.NOT_FOUND),)
    assert later.gone == (Gone(Subject.USER, "7", Outcome.SUSPENDED),)


def test_what_is_withheld_in_one_country_is_only_told() -> None:
    heard = hear(twitter, "sample", withheld("status_withheld", "100", "DE", "FR"), withheld("user_withheld", "7", "DE"))
    assert heard.pages == ()
    assert [notice.detail for notice in heard.notices] == ["post 100 is withheld in DE, FR", "user 7 is withheld in DE"]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (1, Outcome.OVERLOADED),
        (2, Outcome.RATE_LIMITED),
        (4, Outcome.OVERLOADED),
        (6, Outcome.BAD_TOKEN),
        (7, Outcome.RATE_LIMITED),
    ]
    + [(code, Outcome.OVERLOADED) for code in (3, 5, 9, 10, 11, 12, 99)],
)
def test_a_disconnect_ends_the_connection_with_its_reason(code: int, outcome: Outcome) -> None:
    heard = hear(twitter, "sample", line({"disconnect": {"code": code, "stream_name": "s", "reason": "because"}}))
    assert heard.closing is outcome
    assert f"disconnect {code} because" in heard.notices[-1].detail
    assert (heard.notices[0].kind is NoticeKind.SLOW) is (code == 4)


@pytest.mark.parametrize(
    ("code", "body", "outcome"),
    [
        (420, b"Exceeded connection limit for user", Outcome.RATE_LIMITED),
        (429, {"errors": [{"code": 88, "message": "Rate limit exceeded"}]}, Outcome.RATE_LIMITED),
        (401, {"errors": [{"code": 32, "message": "Could not authenticate you."}]}, Outcome.BAD_TOKEN),
        (404, {"errors": [{"code": 34, "message": "Sorry, that page does not exist."}]}, Outcome.FORBIDDEN_SCOPE),
        (406, b"No filter parameters found", Outcome.BAD_REQUEST),
        (503, b"", Outcome.OVERLOADED),
        (200, b"", Outcome.UNREADABLE),
    ],
)
def test_a_refusal_is_an_outcome(code: int, body: object, outcome: Outcome) -> None:
    assert twitter.refused(twitter.subscription("sample", {}), answer(body, code)).outcome is outcome


def test_keep_alives_are_nothing_and_garbage_loses_only_itself() -> None:
    protected = line(tweet("99", user=user("8", protected=True)))
    heard = hear(
        twitter, "sample", b"\r\n", b"", b"{", line({"friends": [1]}), line({"delete": {}}), protected, line(tweet("100"))
    )
    (page,) = heard.pages
    assert (len(page.broken), [post.key for post in page.posts], heard.events) == (3, ["100"], 5)
