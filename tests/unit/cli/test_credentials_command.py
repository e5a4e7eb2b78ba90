from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.errors import CredentialError
from bowerbird.limits.vault import FileVault
from bowerbird.model import Credential, Secret
from failures import command_error, json_error

OAUTH = {"consumer_key": "ck", "consumer_secret": "cs", "access_token": "at", "access_token_secret": "ats"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return tmp_path


def vault(home: Path) -> FileVault:
    return FileVault(home / "config" / "vault")


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def add(*arguments: str) -> int:
    return cli.run(["credentials", "add", "one", *arguments])


MASTODON = ("--provider", "mastodon", "--server", "https://ours.example")


def test_a_secret_from_the_environment_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", "from-env")
    assert add(*MASTODON, "--account", "ada", "--app", "lab") == 0
    assert vault(home).secret("one").values == {"access_token": "from-env"}
    kept = vault(home).credentials()[0]
    assert (kept.provider, kept.kind, kept.account, kept.app) == ("mastodon", "user", "ada", "lab")


@pytest.mark.parametrize("text", ["tok-en==\n", "access_token=tok-en==", '{"access_token": "tok-en=="}'])
def test_a_secret_from_standard_input_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    type_in(monkeypatch, text)
    assert add(*MASTODON, "--stdin") == 0
    assert vault(home).secret("one").values == {"access_token": "tok-en=="}


@pytest.mark.parametrize(("kind", "values"), [("user", OAUTH), ("app", {"bearer_token": "b"}), ("user", {"bearer_token": "b"})])
def test_twitter_takes_either_set_of_fields(
    home: Path, monkeypatch: pytest.MonkeyPatch, kind: str, values: dict[str, str]
) -> None:
    type_in(monkeypatch, json.dumps(values))
    assert add("--provider", "twitter_v1", "--kind", kind, "--stdin") == 0
    assert vault(home).secret("one").values == values


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ('{"consumer_key": "hush"}', "missing_value", "consumer_key + consumer_secret"),
        ('{"hush', "file_unreadable", "JSON"),
        ('{"consumer_key": 7}', "invalid_credential", "JSON"),
        ("hush", "invalid_credential", "consumer_key + consumer_secret"),
        ("bearer_token=hu sh", "invalid_credential", "bearer_token"),
        ("", "missing_value", "consumer_key + consumer_secret"),
    ],
)
def test_an_incomplete_secret_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, code: str, named: str
) -> None:
    type_in(monkeypatch, text)
    assert add("--provider", "twitter_v1", "--stdin", "--json") == 2
    shown = capsys.readouterr()
    error = json_error(shown.err)
    assert error.code == code
    assert named in str(error)
    assert "hush" not in shown.err + shown.out


def test_without_any_secret_the_ways_to_give_it_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert add(*MASTODON, "--json") == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "needs_credential"
    assert "BOWERBIRD_SECRET_ACCESS_TOKEN" in error.advice


@pytest.mark.parametrize(
    ("option", "code", "named"),
    [
        (("--provider", "mastadon"), "unknown_provider", ("'mastadon'", "bluesky, mastodon")),
        (("--provider", "mastodon", "--kind", "x"), "unknown_name", ("'x'", "user", "app")),
    ],
)
def test_an_unknown_provider_or_kind_is_refused(option: tuple[str, ...], code: str, named: tuple[str, ...]) -> None:
    error = command_error("credentials", "add", "one", *option, code=code)
    assert isinstance(error, CredentialError)
    assert all(value in str(error) for value in named)


def test_the_list_shows_names_and_no_secret(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    type_in(monkeypatch, "hush")
    add(*MASTODON, "--stdin")
    assert cli.run(["credentials", "list"]) == 0
    assert cli.run(["credentials", "list", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "hush" not in shown
    listed = json.loads(shown.splitlines()[-1])
    described = {"name": "one", "provider": "mastodon", "kind": "user", "account": "one", "app": ""}
    assert listed["credentials"] == [described | {"servers": ["https://ours.example"]}]
    assert listed["has_password"] is False


def test_an_empty_list_says_how_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["credentials", "list"]) == 0
    assert "credentials add" in capsys.readouterr().out


def test_a_removed_credential_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "hush")
    add(*MASTODON, "--stdin")
    assert cli.run(["credentials", "remove", "one"]) == 0
    assert list(vault(home).credentials()) == []
    assert cli.run(["credentials", "remove", "one"]) == 2


def test_a_password_can_be_given_up_for_a_key_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_VAULT_PASSWORD", "open sesame")
    type_in(monkeypatch, "hush")
    add(*MASTODON, "--stdin")
    assert vault(home).has_password
    assert cli.run(["credentials", "password", "--none"]) == 0
    assert vault(home).secret("one").values == {"access_token": "hush"}


def test_a_new_password_needs_a_terminal() -> None:
    assert "--none" in command_error("credentials", "password", code="needs_password").advice


def servers(home: Path) -> tuple[str, ...]:
    return vault(home).credentials()[0].home


@pytest.mark.parametrize("provider", ["mastodon", "bluesky"])
def test_where_every_server_has_its_own_secrets_one_must_be_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    type_in(monkeypatch, '{"access_token": "hush-hush", "identifier": "ada", "app_password": "hush-hush"}')
    error = command_error("credentials", "add", "one", "--provider", provider, "--stdin", code="needs_option")
    assert "--server https://" in error.advice
    assert list(vault(home).credentials()) == []


def test_a_credential_of_a_network_with_one_api_belongs_to_that_unless_another_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "bearer_token=hush-hush")
    assert add("--provider", "x", "--kind", "app", "--stdin") == 0
    assert servers(home) == ("https://api.x.com", "https://api.twitter.com")
    type_in(monkeypatch, "bearer_token=hush-hush")
    assert add("--provider", "x", "--kind", "app", "--stdin", "--replace", "--server", "http://127.0.0.1:8080/") == 0
    assert servers(home) == ("http://127.0.0.1:8080",)


@pytest.mark.parametrize(
    "written",
    [
        "http://elsewhere.example",
        "https://ada@ours.example",
        "https://ours.example/path",
        "https://ours.example?x",
        "https://ours\u3002example",
        "https://ours.example\\@evil.example",
        "https://ours.example:port",
        "https://",
        "ftp://ours.example",
    ],
)
def test_a_secret_is_bound_to_plain_addresses_of_servers_only(home: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    type_in(monkeypatch, "hush-hush")
    arguments = ("--provider", "mastodon", "--stdin", "--server", written)
    error = command_error("credentials", "add", "one", *arguments, code="invalid_address")
    assert f"--server {written!r}" in error.problem
    assert list(vault(home).credentials()) == []


def test_binding_anew_replaces_what_was_said_before_and_forgets_the_session(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"identifier": "ada", "app_password": "hush-hush"}
    old = Credential(name="one", provider="bluesky")
    vault(home).add(old, Secret(name="one", values={**given, "access_jwt": "session-of-elsewhere", "did": "did:plc:ada"}))
    assert cli.run(["credentials", "list"]) == 0
    assert "bowerbird credentials bind one --server" in " ".join(capsys.readouterr().out.split())
    assert cli.run(["credentials", "bind", "one", "--server", "Bsky.Social", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["servers"] == ["https://bsky.social"]
    assert servers(home) == ("https://bsky.social",)
    assert vault(home).secret("one").values == given
    bind = ("credentials", "bind")
    assert "--server" in command_error(*bind, "one", code="needs_option").problem
    assert "'two'" in command_error(*bind, "two", "--server", "https://bsky.social", code="unknown_credential").problem
    two = ("--server", "https://a.example", "--server", "https://b.example")
    assert "bluesky" in command_error(*bind, "one", *two, code="too_many").problem


def test_a_replaced_secret_stays_where_the_old_one_belonged(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_in(monkeypatch, "hush-hush")
    streams = ("--server", "wss://streaming.ours.example")
    assert add(*MASTODON, *streams, "--stdin") == 0
    type_in(monkeypatch, "another-one")
    assert add("--provider", "mastodon", "--stdin", "--replace") == 0
    assert servers(home) == ("https://ours.example", "https://streaming.ours.example")
    assert vault(home).secret("one").values == {"access_token": "another-one"}
    assert ["one" in line.split() for line in capsys.readouterr().out.splitlines()] == [True, True]


def test_an_address_for_messages_is_kept_and_only_its_server_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_in(monkeypatch, "address=https://chat.example/hooks/hush")
    assert cli.run(["credentials", "add", "chat", "--provider", "message", "--stdin"]) == 0
    assert 'webhook = "vault:chat"' in capsys.readouterr().out
    assert cli.run(["credentials", "list"]) == 0
    shown = capsys.readouterr().out
    assert ("https://chat.example" in shown, "hush" in shown) == (True, False)
    type_in(monkeypatch, "address=ftp://chat.example/hush")
    assert cli.run(["credentials", "add", "other", "--provider", "message", "--stdin"]) == 2
    assert "hush" not in capsys.readouterr().err
