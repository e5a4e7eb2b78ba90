"""A database whose address, password and all, lies in the vault: crawl files and commands name the entry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.db.addresses import public
from bowerbird.errors import UserError
from failures import command_error


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_database(address: str, monkeypatch: pytest.MonkeyPatch, name: str = "lab") -> int:
    monkeypatch.setenv("BOWERBIRD_SECRET_ADDRESS", address)
    return cli.run(["credentials", "add", name, "--provider", "postgresql"])


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_a_crawl_its_status_and_its_seeds_find_their_database_in_the_vault(
    server: Server, folder: Path, migrated_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add_database(migrated_url, monkeypatch) == 0
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", next(iter(server.service.tokens)).value)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0
    capsys.readouterr()
    file = server.crawl_file(folder / "a.toml")
    file.write_text('store = "vault:lab"\n' + file.read_text("utf-8"), "utf-8")
    assert cli.run(["crawl", str(file), "--calls", "3", "--quiet", "--json"]) == 0
    made = result(capsys)
    assert made["store"] == public(migrated_url)
    assert not list(folder.glob("*.db"))
    assert not list(folder.glob("vault*"))
    assert cli.run(["status", str(file), "--json"]) == 0
    assert result(capsys)["store"] == made["store"]
    assert cli.run(["status", "vault:lab", "--json"]) == 0


def test_the_list_of_credentials_names_the_database_without_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add_database("postgresql://ada:s3cr3t@db.example/lab", monkeypatch) == 0
    assert cli.run(["credentials", "list"]) == 0
    said = capsys.readouterr()
    assert "postgresql://db.example/lab" in said.out + said.err
    assert "s3cr3t" not in said.out + said.err


@pytest.mark.parametrize("address", ["crawl.db", "mysql://a:s3cr3t@b/c", "postgresql://a:s3cr/3t@b/c"])
def test_what_is_no_address_of_a_database_is_refused_without_being_quoted(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add_database(address, monkeypatch) in (1, 2)
    assert "s3cr" not in capsys.readouterr().err


def test_an_unknown_entry_is_named_with_what_to_do() -> None:
    error = command_error("status", "vault:nobody", code="unknown_credential")
    assert isinstance(error, UserError)
    assert "bowerbird credentials add nobody --provider postgresql" in error.advice
