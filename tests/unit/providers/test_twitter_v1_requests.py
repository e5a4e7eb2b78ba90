"""Asks as requests to the classic API, and their signatures."""

from datetime import UTC, datetime

import pytest
from provider_payloads import twitter

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import Ask, Progress, Request, Secret
from bowerbird.providers import TwitterV1
from bowerbird.providers.oauth import authorization, signature
from failures import raises_code


def built(facet: str, *targets: str, hints: dict[str, str] | None = None, **progress: str) -> tuple[str, dict[str, str]]:
    request = twitter.request(Ask(facet, targets, Progress(**progress), hints or {}))
    return request.path, dict(request.query)


def test_profiles_mix_ids_and_handles_in_one_call() -> None:
    path, query = built("profiles", "1", "@alice", "2")
    assert path == "/1.1/users/lookup.json"
    assert (query["user_id"], query["screen_name"]) == ("1,2", "alice")


def test_follower_ids_start_at_minus_one_and_come_as_text() -> None:
    path, query = built("followers", "1")
    assert path == "/1.1/followers/ids.json"
    assert query == {"user_id": "1", "count": "5000", "cursor": "-1", "stringify_ids": "true"}
    assert built("following", "1", cursor="1234")[1]["cursor"] == "1234"


def test_a_revisit_asks_from_just_below_the_newest_known_post() -> None:
    query = built("timeline", "1", newest="1000", cursor="1990/200")[1]
    assert (query["since_id"], query["max_id"]) == ("999", "1990")
    assert "since_id" not in built("timeline", "1")[1]


def test_posts_are_hydrated_by_the_hundred_with_their_full_text() -> None:
    path, query = built("posts", "1", "2")
    assert (path, query) == ("/1.1/statuses/lookup.json", {"id": "1,2", "tweet_mode": "extended"})


def test_a_hashtag_is_a_search_with_the_crawls_options() -> None:
    query = built("hashtag", "birds", hints={"lang": "pt", "password": "x"})[1]
    assert (query["q"], query["lang"], query["result_type"]) == ("#birds", "pt", "recent")
    assert "password" not in query


def test_a_list_is_named_by_id_or_by_owner_and_slug() -> None:
    assert built("members", "12")[1]["list_id"] == "12"
    assert built("members", "alice/birds")[1]["slug"] == "birds"


@pytest.mark.parametrize(
    ("facet", "text", "target"),
    [
        ("profile", "12", "12"),
        ("profile", "x:12", "12"),
        ("profile", "alice", "@alice"),
        ("profiles", "@alice", "@alice"),
        ("timeline", "https://x.com/alice", "@alice"),
        ("timeline", "https://mobile.twitter.com/alice?lang=en", "@alice"),
        ("followers", "12", "12"),
        ("post", "https://twitter.com/alice/status/123?s=20", "123"),
        ("posts", "x:123", "123"),
        ("hashtag", "#Birds", "birds"),
        ("search", "a OR b", "a OR b"),
        ("members", "alice/birds", "alice/birds"),
    ],
)
def test_people_may_write_ids_handles_addresses_and_words(facet: str, text: str, target: str) -> None:
    assert twitter.target(text, twitter.facets[facet]) == target


@pytest.mark.parametrize(
    ("facet", "text", "named"),
    [
        ("profile", "not a handle", "handle' @alice"),
        ("followers", "@alice", "'@alice' `profile`"),
        ("post", "https://elsewhere.example/alice/status/1", "status/1' x:123"),
        ("hashtag", "#", "'#'"),
        ("search", "x" * 501, "500"),
        ("members", "a b", "b' owner/slug"),
    ],
)
def test_what_cannot_be_a_target_is_refused_with_advice(facet: str, text: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        twitter.target(text, twitter.facets[facet])
    assert facet in caught.value.problem
    assert all(value in str(caught.value) for value in named.split())


def test_the_signature_of_rfc_5849_is_reproduced() -> None:
    parameters = [
        ("file", "vacation.jpg"),
        ("size", "original"),
        ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
        ("oauth_token", "nnch734d00sl2jdk"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131202"),
        ("oauth_nonce", "chapoH"),
    ]
    signed = signature("GET", "http://photos.example.net/photos", parameters, "kd94hf93k423kf44", "pfkkdhi9sl3r4s00")
    assert signed == "MdpQcU8iPSUjWoN/UDMsK2sui9I="


def test_twitters_documented_example_is_reproduced() -> None:
    request = Request(
        method="POST",
        path="/1.1/statuses/update.json",
        query=(("include_entities", "true"),),
        body=b"status=Hello%20Ladies%20%2b%20Gentlemen%2c%20a%20signed%20OAuth%20request%21",
    )
    keys = {
        "consumer_key": "xvz1evFS4wEEPTGEFPHBog",
        "consumer_secret": "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
        "access_token": "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
        "access_token_secret": "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
    }
    header = authorization(
        request,
        "https://api.twitter.com",
        keys,
        nonce="kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
        timestamp=1318622958,
    )
    assert 'oauth_signature="hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D"' in header


def test_a_users_secret_signs_with_the_given_clock_and_an_apps_is_a_bearer() -> None:
    clocked = TwitterV1(now=lambda: datetime(2026, 1, 5, tzinfo=UTC), nonce=lambda: "once")
    request = clocked.request(Ask("profile", ("1",)))
    user = Secret(name="u", values={"consumer_key": "a", "consumer_secret": "b", "access_token": "c", "access_token_secret": "d"})
    header = clocked.sign(request, user).headers["authorization"]
    assert header.startswith('OAuth oauth_consumer_key="a", oauth_nonce="once"')
    assert 'oauth_timestamp="1767571200"' in header
    assert clocked.sign(request, Secret(name="a", values={"bearer_token": "t"})).headers["authorization"] == "Bearer t"


@pytest.mark.parametrize("values", [{}, {"access_token": "t", "access_token_secret": "s"}])
def test_an_incomplete_secret_says_what_is_missing(values: dict[str, str]) -> None:
    with raises_code(CredentialError, "invalid_credential") as caught:
        twitter.sign(Request(path="/"), Secret(name="u", values=values))
    assert "consumer_key, consumer_secret" in caught.value.problem
