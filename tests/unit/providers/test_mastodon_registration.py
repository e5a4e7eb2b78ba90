"""Registration with a Mastodon server: what is sent, what is understood, and refusals in words."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from provider_payloads import answer

from bowerbird.errors import CredentialError
from bowerbird.limits.credentials import server_address
from bowerbird.model import Answer
from bowerbird.providers.mastodon.registration import (
    Application,
    account,
    authorisation_address,
    exchange,
    register,
    registered,
    token,
    whose,
)
from failures import raises_code

APPLICATION = Application("the-id", "hush-secret")


def test_the_application_asks_to_read_and_for_the_code_to_be_shown() -> None:
    request = register("https://lab.example")
    assert (request.method, request.path) == ("POST", "/api/v1/apps")
    assert dict(parse_qsl(request.body.decode())) == {
        "client_name": "bowerbird",
        "redirect_uris": "urn:ietf:wg:oauth:2.0:oob",
        "scopes": "read",
        "website": "https://lab.example",
    }
    assert b"website" not in register("ada@lab.example").body


def test_the_address_to_agree_at_holds_the_client_and_not_its_secret() -> None:
    address = authorisation_address("https://m.example", APPLICATION)
    query = parse_qs(urlsplit(address).query)
    assert address.startswith("https://m.example/oauth/authorize?")
    assert (query["client_id"], query["response_type"], query["scope"]) == (["the-id"], ["code"], ["read"])
    assert "hush" not in address


@pytest.mark.parametrize(("code", "grant"), [("c1", "authorization_code"), (None, "client_credentials")])
def test_a_code_is_exchanged_and_without_one_the_application_gets_its_own_token(code: str | None, grant: str) -> None:
    form = dict(parse_qsl(exchange(APPLICATION, code).body.decode()))
    assert (form["grant_type"], form.get("code"), form["client_secret"]) == (grant, code, "hush-secret")


def test_good_answers_are_understood() -> None:
    assert registered(answer({"client_id": "a", "client_secret": "b", "vapid_key": "c"})) == Application("a", "b")
    assert token(answer({"access_token": "t", "token_type": "Bearer"})) == "t"
    assert account(answer({"acct": "ada", "id": "1"})) == "ada"
    assert whose("t").headers == {"authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("given", "code", "named"),
    [
        (answer({"error": "Validation failed"}, 422), "refused", "422 'Validation"),
        (answer(b"<html>", 404), "refused", "404"),
        (answer({"error": "Too many requests"}, 429), "refused", "429 'Too"),
        (answer(b"", 503), "refused", "503"),
        (answer({}), "wrong_server", ""),
        (answer({"client_id": "a b", "client_secret": ""}), "wrong_server", ""),
        (answer(b"<html>"), "wrong_server", ""),
        (
            Answer(status=0, sent_at=answer().sent_at, received_at=answer().sent_at, failure="cannot connect"),
            "server_unreachable",
            "connect",
        ),
    ],
)
def test_a_refused_registration_says_what_to_do(given: Answer, code: str, named: str) -> None:
    with raises_code(CredentialError, code) as caught:
        registered(given)
    assert all(value in str(caught.value) for value in named.split())


def test_registration_refused_advises_by_status() -> None:
    advised = set[str]()
    for status in (404, 422, 429, 503):
        with raises_code(CredentialError, "refused") as caught:
            registered(answer(b"", status))
        assert str(status) in caught.value.problem
        advised.add(caught.value.advice)
    assert len(advised) == 4


@pytest.mark.parametrize("body", [{}, {"access_token": 7}, {"access_token": ""}, [], {"access_token": "two words"}])
def test_an_answer_without_a_token_is_refused(body: Any) -> None:
    with raises_code(CredentialError, "wrong_server"):
        token(answer(body))


def test_a_refusal_never_repeats_a_secret_even_if_the_server_does() -> None:
    refusal = answer({"error": "invalid_grant", "error_description": "code c-hush is not good"}, 400)
    with raises_code(CredentialError, "credential_refused") as caught:
        token(refusal, "c-hush")
    assert "400" in caught.value.problem
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(APPLICATION) + str(APPLICATION)


@pytest.mark.parametrize("body", [{}, [], {"acct": "a b"}, {"acct": ""}])
def test_an_account_that_is_not_told_is_nobody(body: Any) -> None:
    assert account(answer(body)) is None


@pytest.mark.parametrize(
    ("written", "base"),
    [
        ("mastodon.social", "https://mastodon.social"),
        ("https://m.example/", "https://m.example"),
        ("http://127.0.0.1:4000", "http://127.0.0.1:4000"),
    ],
)
def test_a_server_is_named_by_its_address(written: str, base: str) -> None:
    assert server_address(written, "--register") == base


@pytest.mark.parametrize(
    "written", ["http://m.example", "https://m.example/@ada", "https://a:b@m.example", "", "ftp://m.example", "https://["]
)
def test_an_address_that_would_show_the_secret_or_is_none_is_refused(written: str) -> None:
    with raises_code(CredentialError, "invalid_address") as caught:
        server_address(written, "--register")
    assert "--register" in caught.value.problem
    assert repr(written) in caught.value.problem
