"""Asks as XRPC queries, what people may write, and sessions."""

from __future__ import annotations

import json

import pytest
from bluesky_payloads import ALICE, BOB, bluesky, post_uri
from provider_payloads import answer

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import Ask, Progress, Secret
from bowerbird.providers.base import Provider
from bowerbird.providers.bluesky.facets import SESSION_LIMITS
from failures import raises_code

LIST = f"at://{ALICE}/app.bsky.graph.list/3kabc"


def built(facet: str, *targets: str, hints: dict[str, str] | None = None, **progress: str) -> tuple[str, list[tuple[str, str]]]:
    request = bluesky.request(Ask(facet, targets, Progress(**progress), hints or {}))
    return request.path.removeprefix("/xrpc/"), list(request.query)


def test_batches_repeat_their_parameter() -> None:
    assert built("profiles", ALICE, "@bob.test") == ("app.bsky.actor.getProfiles", [("actors", ALICE), ("actors", "bob.test")])
    uris = [post_uri(ALICE), post_uri(BOB)]
    assert built("posts", *uris) == ("app.bsky.feed.getPosts", [("uris", uri) for uri in uris])


@pytest.mark.parametrize(
    ("facet", "target", "method", "query"),
    [
        ("profile", "@bob.test", "app.bsky.actor.getProfile", [("actor", "bob.test")]),
        ("followers", ALICE, "app.bsky.graph.getFollowers", [("actor", ALICE), ("limit", "100")]),
        ("following", ALICE, "app.bsky.graph.getFollows", [("actor", ALICE), ("limit", "100")]),
        ("reposts", post_uri(), "app.bsky.feed.getRepostedBy", [("uri", post_uri()), ("limit", "100")]),
        ("likes", post_uri(), "app.bsky.feed.getLikes", [("uri", post_uri()), ("limit", "100")]),
        ("quotes", post_uri(), "app.bsky.feed.getQuotes", [("uri", post_uri()), ("limit", "100")]),
        ("thread", post_uri(), "app.bsky.feed.getPostThread", [("uri", post_uri()), ("depth", "100"), ("parentHeight", "100")]),
        ("people", "ana", "app.bsky.actor.searchActors", [("q", "ana"), ("limit", "100")]),
        ("members", LIST, "app.bsky.graph.getList", [("list", LIST), ("limit", "100")]),
        ("lists", ALICE, "app.bsky.graph.getLists", [("actor", ALICE), ("limit", "100")]),
        ("trends", "all", "app.bsky.unspecced.getTrends", [("limit", "25")]),
        ("status", ALICE, "com.atproto.sync.getRepoStatus", [("did", ALICE)]),
        ("repos", "all", "com.atproto.sync.listRepos", [("limit", "1000")]),
        ("repo", ALICE, "com.atproto.sync.getRepo", [("did", ALICE)]),
    ],
)
def test_every_facet_has_its_method(facet: str, target: str, method: str, query: list[tuple[str, str]]) -> None:
    assert built(facet, target) == (method, query)


def test_raw_timelines_name_their_collection() -> None:
    posts = [("repo", ALICE), ("collection", "app.bsky.feed.post"), ("limit", "100")]
    assert built("records", ALICE) == ("com.atproto.repo.listRecords", posts)
    assert ("collection", "app.bsky.feed.repost") in built("records", ALICE, hints={"collection": "app.bsky.feed.repost"})[1]
    assert ("collection", "app.bsky.feed.post") in built("records", ALICE, hints={"collection": "app.bsky.graph.block"})[1]
    assert ("collection", "app.bsky.graph.follow") in built("following_records", ALICE)[1]


def test_cursors_are_sent_back_as_they_came() -> None:
    ask = Ask("timeline", (ALICE,), Progress(cursor="2026-05-25T14:20:00Z", newest="2026-05-01T00:00:00.000Z"))
    assert ("cursor", "2026-05-25T14:20:00Z") in bluesky.request(ask).query
    assert bluesky.is_paged(ask)
    assert not bluesky.is_paged(Ask("timeline", (ALICE,)))


def test_searches_of_a_revisit_begin_at_the_newest_known_post() -> None:
    query = built("hashtag", "python", hints={"lang": "pt", "since": "2020-01-01"}, newest="2026-05-25T14:23:28.757Z")[1]
    wanted = [("q", "#python"), ("tag", "python"), ("limit", "100"), ("since", "2026-05-25T14:23:28.757Z")]
    assert query == [*wanted, ("lang", "pt"), ("sort", "latest")]
    assert ("since", "2020-01-01") in built("search", "python", hints={"since": "2020-01-01"})[1]


def test_an_export_asks_only_for_what_is_newer_than_the_last_revision() -> None:
    assert built("repo", ALICE, newest="3mmoojpaqkn2z")[1] == [("did", ALICE), ("since", "3mmoojpaqkn2z")]


def test_hints_narrow_the_page_and_unknown_ones_are_left_out() -> None:
    query = built("timeline", ALICE, hints={"limit": "10", "filter": "posts_no_replies", "password": "x"})[1]
    assert query == [("actor", ALICE), ("limit", "10"), ("filter", "posts_no_replies")]


def test_exports_have_a_bucket_of_their_own_and_all_else_shares_one() -> None:
    buckets = {facet.limits[0].bucket for name, facet in bluesky.facets.items() if name != "repo"}
    assert buckets == {"{service}/address"}
    assert bluesky.facets["repo"].limits[0].allowance == 6000
    assert [limit.allowance for limit in SESSION_LIMITS] == [30, 300]


@pytest.mark.parametrize(
    ("facet", "text", "target"),
    [
        ("profile", f" {ALICE} ", ALICE),
        ("profile", "@Alice.BSKY.social", "@alice.bsky.social"),
        ("profiles", "alice.bsky.social", "@alice.bsky.social"),
        ("timeline", "https://bsky.app/profile/alice.bsky.social", "@alice.bsky.social"),
        ("followers", f"https://bsky.app/profile/{ALICE}", ALICE),
        ("posts", post_uri(), post_uri()),
        ("thread", f"https://bsky.app/profile/{ALICE}/post/3mmoojp4cd223", post_uri()),
        ("members", f"https://bsky.app/profile/{ALICE}/lists/3kabc", LIST),
        ("hashtag", "#Birds", "birds"),
        ("search", " two words ", "two words"),
        ("trends", "all", "all"),
    ],
)
def test_people_may_write_dids_handles_addresses_and_words(facet: str, text: str, target: str) -> None:
    assert bluesky.target(text, bluesky.facets[facet]) == target


@pytest.mark.parametrize(
    ("facet", "text", "named"),
    [
        ("profile", "not a handle", "handle' did:plc:…"),
        ("followers", "@alice.test", "'@alice.test' `profile`"),
        ("posts", "at://alice.test/app.bsky.feed.post/3k", "3k' did:plc:… `profile`"),
        ("posts", f"at://{ALICE}/app.bsky.feed.like/3k", "like/3k' app.bsky.feed.post"),
        ("members", post_uri(), "app.bsky.graph.list"),
        ("hashtag", "two words", "words'"),
        ("search", "  ", "500"),
        ("repos", "some", "'some' all"),
    ],
)
def test_what_cannot_be_a_target_is_refused_with_advice(facet: str, text: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        bluesky.target(text, bluesky.facets[facet])
    assert repr(text) in caught.value.problem
    assert all(value in str(caught.value) for value in named.split())


def test_an_app_password_opens_a_session_that_signs_requests() -> None:
    provider: Provider = bluesky
    secret = Secret(name="me", values={"identifier": "alice.test", "app_password": "abcd-efgh"})
    assert (provider.needs_login(secret), provider.has_session(secret)) == (True, False)
    login = provider.login(secret)
    assert (login.method, login.path) == ("POST", "/xrpc/com.atproto.server.createSession")
    assert json.loads(login.body) == {"identifier": "alice.test", "password": "abcd-efgh"}
    said = {"accessJwt": "a1", "refreshJwt": "r1", "handle": "alice.test", "did": ALICE, "active": True}
    opened = provider.session(secret, answer(said))
    assert opened is not None
    assert provider.has_session(opened)
    assert opened.values["app_password"] == "abcd-efgh"
    signed = provider.sign(provider.request(Ask("profile", (ALICE,))), opened)
    assert signed.headers["authorization"] == "Bearer a1"
    assert provider.refresh(opened).headers["authorization"] == "Bearer r1"
    assert provider.refresh(opened).path == "/xrpc/com.atproto.server.refreshSession"
    assert provider.refresh(secret) == login


@pytest.mark.parametrize(
    "answered",
    [
        answer({"error": "AuthenticationRequired", "message": "Invalid identifier or password"}, 401),
        answer({"accessJwt": "a", "refreshJwt": "r", "did": ALICE, "active": False}),
        answer({"accessJwt": "", "refreshJwt": "r", "did": ALICE}),
        answer({"accessJwt": "a", "refreshJwt": "r", "did": "nobody"}),
        answer(b"<html>"),
    ],
)
def test_an_answer_without_a_session_opens_none(answered: object) -> None:
    assert bluesky.session(Secret(name="me"), answered) is None  # type: ignore[arg-type]


def test_secrets_that_cannot_sign_say_what_they_lack() -> None:
    request = bluesky.request(Ask("profile", (ALICE,)))
    assert bluesky.sign(request, Secret(name="me", values={"identifier": "a", "app_password": "b"})) == request
    with raises_code(CredentialError, "invalid_credential") as caught:
        bluesky.sign(request, Secret(name="me"))
    assert all(value in str(caught.value) for value in ("me", "app_password", "access_jwt"))
    with raises_code(CredentialError, "invalid_credential") as caught:
        bluesky.login(Secret(name="me", values={"app_password": "x"}))
    assert all(value in str(caught.value) for value in ("me", "identifier"))
