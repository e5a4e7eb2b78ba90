"""Every command about credentials that bowerbird suggests works as it is printed, for each network and kind."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.app import vocabulary
from bowerbird.cli.commands.trying.simulate import introduction
from bowerbird.clock import RealClock
from bowerbird.limits.credentials import FIELDS
from bowerbird.limits.vault import FileVault

Capsys = pytest.CaptureFixture[str]
NETWORKS = ("bluesky", "mastodon", "twitter_v1", "weibo", "x")
SOURCES = Path(__file__).parents[3] / "src/bowerbird"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(dialect=name)) for name in NETWORKS}


@pytest.fixture(autouse=True)
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileVault:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return FileVault(tmp_path / "home/config/vault")


def suggested(text: str) -> list[list[str]]:
    """The commands in a text, each up to where its sentence goes on."""
    found = re.findall(r"bowerbird credentials (?:add|bind) (?:[^`;(\n]*?(?=, or |   |[`;(\n]|$))", text, re.MULTILINE)
    return [shlex.split(each.strip().rstrip(".")) for each in found]


def said(arguments: list[str], capsys: Capsys) -> str:
    capsys.readouterr()
    cli.run(arguments)
    captured = capsys.readouterr()
    return captured.out + captured.err


def works(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    """Types a suggested command, with the secret that a person is asked for."""
    with monkeypatch.context() as typed:
        kind = words[words.index("--kind") + 1] if "--kind" in words else "user"
        for field in FIELDS[words[words.index("--provider") + 1], kind][0]:
            typed.setenv(f"BOWERBIRD_SECRET_{field.upper()}", "secret")
        assert cli.run(words[1:]) == 0, (words, capsys.readouterr().err)


def add(name: str, server: Server, kind: str, secret: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    provider = server.service.dialect.name
    with monkeypatch.context() as typed:
        for field, value in secret.items():
            typed.setenv(f"BOWERBIRD_SECRET_{field.upper()}", value)
        assert cli.run(["credentials", "add", name, "--provider", provider, "--kind", kind, "--server", server.base]) == 0


def wrong(name: str, kind: str) -> dict[str, str]:
    return dict.fromkeys(FIELDS[name, kind][0], "wrong")


@pytest.mark.parametrize("name", NETWORKS)
def test_what_init_suggests_adds_the_credential_that_the_flow_needs(
    name: str, vault: FileVault, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    for flow in vocabulary().flows:
        told = said(["init", f"{flow}.toml", "--flow", flow, "--provider", name], capsys)
        for words in suggested(told):
            works(words, monkeypatch, capsys)
    kinds = {each.name: each.kind for each in vault.credentials()}
    assert len(kinds) >= len(vocabulary().flows) - 1, "a name that is taken is not suggested; one flow listens, if it can"
    assert kinds["mine"] == ("app" if name in ("x", "twitter_v1") else "user")


def test_a_flow_that_only_a_user_may_run_is_given_the_token_of_a_user(capsys: Capsys) -> None:
    assert "--kind" not in said(["init", "--flow", "listen", "--provider", "twitter_v1"], capsys)
    assert "--provider x --kind app" in said(["init", "x.toml", "--flow", "listen", "--provider", "x"], capsys)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_banner_of_a_simulated_service_adds_each_kind_of_token(
    name: str, servers: dict[str, Server], vault: FileVault, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    lines = introduction(servers[name].service, name, servers[name].base, RealClock())["lines"]
    commands = suggested("\n".join(lines))
    assert commands
    for words in commands:
        works(words, monkeypatch, capsys)
    assert {each.name for each in vault.credentials()} == {"mine", "mine-2"} if len(commands) > 1 else {"mine"}


@pytest.mark.parametrize("name", ["twitter_v1", "weibo", "x"])
def test_where_a_credential_is_wanted_the_suggested_one_is_taken(
    name: str, servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Under a name that the vault does not have yet, and of a kind that may ask what the crawl asks."""
    elsewhere = "mastodon" if name != "mastodon" else "x"
    add("mine", servers[elsewhere], "user", wrong(elsewhere, "user"), monkeypatch)
    servers[name].crawl_file(Path("a.toml"), seeds=3)
    for command in ("doctor", "crawl"):
        (words,) = suggested(said([command, "a.toml"], capsys))
        assert words[3] == "mine-2"
    works(words, monkeypatch, capsys)
    assert "'mine-2'" in refused("crawl", "a.toml", "--yes", code="credential_refused").problem


@pytest.mark.parametrize(("name", "kind"), [("mastodon", "user"), ("x", "app"), ("twitter_v1", "app"), ("weibo", "user")])
def test_a_refused_credential_is_renewed_by_what_is_suggested_and_stays_what_it_was(
    name: str, kind: str, servers: dict[str, Server], vault: FileVault, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    add("mine", servers[name], kind, wrong(name, kind), monkeypatch)
    before = vault.credential("mine")
    servers[name].crawl_file(Path("a.toml"), seeds=3)
    (words,) = suggested(said(["crawl", "a.toml", "--yes"], capsys))
    assert words[3:] == ["mine", "--provider", name, "--replace"]
    told = suggested(said(["status", "a.toml"], capsys))
    assert told == [words, words], "why the crawl ended, and what is refused now"
    for field in FIELDS[name, kind][0]:
        monkeypatch.setenv(f"BOWERBIRD_SECRET_{field.upper()}", "another")
    assert cli.run(words[1:]) == 0
    assert vault.credential("mine") == before, "kind, account, application and server are kept"
    assert cli.run(["credentials", "remove", "mine"]) == 0
    capsys.readouterr()
    assert cli.run(["status", "a.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refusals"] == [], "nobody renews what is no longer there"


def test_a_secret_of_the_other_kind_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_BEARER_TOKEN", "token")
    error = refused("credentials", "add", "mine", "--provider", "x", code="needs_option")
    assert "bearer_token" in error.problem
    assert "--kind app" in error.advice


def test_a_name_that_belongs_to_another_network_is_not_suggested_again(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    add("mine", servers["mastodon"], "user", wrong("mastodon", "user"), monkeypatch)
    file = servers["weibo"].crawl_file(Path("a.toml"), seeds=3)
    file.write_text(file.read_text() + 'credentials = ["mine"]\n')
    error = refused("crawl", "a.toml", code="credential_of_other_server")
    assert all(value in error.problem for value in ("'mine'", "mastodon", "sim", "weibo"))
    (words,) = suggested(error.advice)
    works(words, monkeypatch, capsys)


def test_a_stream_without_a_fitting_credential_suggests_one(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    Path("a.toml").write_text(
        f'flow = "listen"\n[service]\nprovider = "x"\nbase = "{servers["x"].base}"\n[[streams]]\nchannel = "sample"\n'
    )
    add("mine", servers["x"], "user", wrong("x", "user"), monkeypatch)
    # The token is wrong besides: the other command renews it.
    renewed, words = sorted(suggested(said(["doctor", "a.toml"], capsys)), key=lambda each: each[3])
    assert renewed[3:] == ["mine", "--provider", "x", "--replace"]
    assert words[3:7] == ["mine-2", "--provider", "x", "--kind"]
    works(words, monkeypatch, capsys)


def test_an_empty_vault_names_a_command_that_works(monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    (words,) = suggested(said(["credentials", "list"], capsys))
    works(words, monkeypatch, capsys)


def test_such_commands_are_written_in_one_place() -> None:
    texts = {path.relative_to(SOURCES): path.read_text() for path in SOURCES.rglob("*.py")}
    spelled = {str(path) for path, text in texts.items() if "bowerbird credentials add " in text}
    assert spelled == {"crawl/access/how_to_add.py", "cli/store_addresses.py"}, "the second names an address of a database"
    blanks = [str(path) for path, text in texts.items() if re.search(r"bowerbird [a-z][^`\n]*…", text)]
    assert blanks == [], "what is to be typed has no blanks"
