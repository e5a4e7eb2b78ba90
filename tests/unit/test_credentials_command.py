from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.limits.vault import FileVault

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


def test_a_secret_from_the_environment_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", "from-env")
    assert add("--provider", "mastodon", "--account", "ada", "--app", "lab") == 0
    assert vault(home).secret("one").values == {"access_token": "from-env"}
    kept = vault(home).credentials()[0]
    assert (kept.provider, kept.kind, kept.account, kept.app) == ("mastodon", "user", "ada", "lab")


@pytest.mark.parametrize("text", ["tok-en==\n", "access_token=tok-en==", '{"access_token": "tok-en=="}'])
def test_a_secret_from_standard_input_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    type_in(monkeypatch, text)
    assert add("--provider", "mastodon", "--stdin") == 0
    assert vault(home).secret("one").values == {"access_token": "tok-en=="}


@pytest.mark.parametrize(("kind", "values"), [("user", OAUTH), ("app", {"bearer_token": "b"}), ("user", {"bearer_token": "b"})])
def test_twitter_takes_either_set_of_fields(
    home: Path, monkeypatch: pytest.MonkeyPatch, kind: str, values: dict[str, str]
) -> None:
    type_in(monkeypatch, json.dumps(values))
    assert add("--provider", "twitter_v1", "--kind", kind, "--stdin") == 0
    assert vault(home).secret("one").values == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"consumer_key": "hush"}', "not complete (given: consumer_key); needed: consumer_key + consumer_secret"),
        ('{"hush', "is not; write one object"),
        ('{"consumer_key": 7}', "must be text"),
        ("hush", "lines of field=value"),
        ("bearer_token=hu sh", "single word"),
        ("", "not complete (given: nothing)"),
    ],
)
def test_an_incomplete_secret_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    type_in(monkeypatch, text)
    assert add("--provider", "twitter_v1", "--stdin") == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert "hush" not in shown.err + shown.out


def test_without_any_secret_the_ways_to_give_it_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert add("--provider", "mastodon") == 2
    assert "BOWERBIRD_SECRET_ACCESS_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "words"),
    [(("--provider", "mastadon"), "there are bluesky, mastodon"), (("--provider", "mastodon", "--kind", "x"), "user or app")],
)
def test_an_unknown_provider_or_kind_is_refused(capsys: pytest.CaptureFixture[str], option: tuple[str, ...], words: str) -> None:
    assert add(*option) == 2
    assert words in capsys.readouterr().err


def test_the_list_shows_names_and_no_secret(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    type_in(monkeypatch, "hush")
    add("--provider", "mastodon", "--stdin")
    assert cli.run(["credentials", "list"]) == 0
    assert cli.run(["credentials", "list", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "hush" not in shown
    listed = json.loads(shown.splitlines()[-1])
    assert listed["credentials"] == [{"name": "one", "provider": "mastodon", "kind": "user", "account": "one", "app": ""}]
    assert listed["has_password"] is False


def test_an_empty_list_says_how_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["credentials", "list"]) == 0
    assert "credentials add" in capsys.readouterr().out


def test_a_removed_credential_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "hush")
    add("--provider", "mastodon", "--stdin")
    assert cli.run(["credentials", "remove", "one"]) == 0
    assert list(vault(home).credentials()) == []
    assert cli.run(["credentials", "remove", "one"]) == 2


def test_a_password_can_be_given_up_for_a_key_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_VAULT_PASSWORD", "open sesame")
    type_in(monkeypatch, "hush")
    add("--provider", "mastodon", "--stdin")
    assert vault(home).has_password
    assert cli.run(["credentials", "password", "--none"]) == 0
    assert vault(home).secret("one").values == {"access_token": "hush"}


def test_a_new_password_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["credentials", "password"]) == 2
    assert "in a terminal" in capsys.readouterr().err
