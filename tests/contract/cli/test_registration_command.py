"""`bowerbird credentials add --register` against a simulated Mastodon server over real HTTP."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.limits.vault import FileVault


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    return tmp_path


class Person(io.StringIO):
    """Opens the address on the screen and types the code that the page shows, as somebody at the keyboard would."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__()
        self._capsys = capsys
        self.shown = ""

    def readline(self, size: int | None = -1, /) -> str:
        self.shown += self._capsys.readouterr().out
        address = re.search(r"http\S+/oauth/authorize\S+", self.shown)
        assert address is not None
        page = urlopen(address[0]).read().decode()
        code = re.search(r'value="([^"]+)"', page)
        assert code is not None
        return code[1] + "\n"


def command(server: Server, *more: str) -> list[str]:
    return ["credentials", "add", "mine", "--provider", "mastodon", "--register", server.base, *more]


def add(server: Server, *more: str) -> int:
    return cli.run(command(server, *more))


def vault(home: Path) -> FileVault:
    return FileVault(home / "config" / "vault")


def asks(server: Server, token: str, path: str) -> dict[str, str]:
    with urlopen(Request(server.base + path, headers={"authorization": f"Bearer {token}"})) as answer:
        said: dict[str, str] = json.loads(answer.read())
    return said


def test_a_code_becomes_a_users_token_and_nothing_secret_is_shown(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person = Person(capsys)
    monkeypatch.setattr("sys.stdin", person)
    assert add(server, "--stdin") == 0
    token = vault(home).secret("mine").values["access_token"]
    name = asks(server, token, "/api/v1/accounts/verify_credentials")["acct"]
    assert vault(home).credentials()[0].account == f"{name}@{server.base.partition('://')[2]}"
    last = capsys.readouterr()
    assert token not in person.shown + last.out + last.err
    assert "sim-client-secret" not in person.shown + last.out + last.err


def test_an_application_gets_a_token_of_its_own_without_a_code(server: Server, home: Path) -> None:
    assert add(server, "--kind", "app", "--app", "lab") == 0
    kept = vault(home).credentials()[0]
    assert (kept.kind, kept.account, kept.app) == ("app", "mine", "lab")
    assert asks(server, vault(home).secret("mine").values["access_token"], "/api/v1/apps/verify_credentials")["name"]


def test_a_wrong_code_is_refused_in_words_and_not_repeated(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hush\n"))
    error = refused(*command(server, "--stdin"), code="credential_refused")
    shown = capsys.readouterr()
    assert "hush" not in str(error) + shown.err + shown.out
    assert list(vault(home).credentials()) == []


def test_what_the_vault_would_refuse_is_refused_before_the_server_is_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(server.service.tokens)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    options = ["--kind", "app", "--register", server.base]
    bad_name = refused("credentials", "add", "two words", "--provider", "mastodon", *options, code="invalid_credential")
    assert "'two words'" in bad_name.problem
    assert "mastodon" in refused("credentials", "add", "mine", "--provider", "x", *options, code="unsupported").problem
    refused(*command(server), code="needs_terminal")
    assert len(server.service.tokens) == before


def test_a_server_that_is_not_there_is_named() -> None:
    add = ["credentials", "add", "mine", "--provider", "mastodon", "--kind", "app", "--register"]
    assert "127.0.0.1:9" in refused(*add, "http://127.0.0.1:9", code="server_unreachable").problem
