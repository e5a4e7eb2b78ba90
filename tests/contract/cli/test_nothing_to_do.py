"""Crawls that can bring nothing, or less than was asked for, say so: queries that choose nobody, seeds that opted out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.clock import RealClock


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", next(iter(server.service.tokens)).value)
    monkeypatch.chdir(tmp_path)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0
    capsys.readouterr()
    return tmp_path


def write(server: Server, file: Path, seeds: str) -> None:
    service = f'[service]\nname = "sim"\nprovider = "mastodon"\nbase = "{server.base}"\n'
    file.write_text(f'flow = "graph"\nseeds{seeds}\nfilters.max_depth = 0\n{service}')


def shy(server: Server, count: int) -> list[int]:
    """Accounts that are there and asked not to be collected."""
    truth, now = server.service.truth, RealClock().now()
    there = [account for account in range(len(server.service.world)) if truth.is_available(account, now)]
    return [account for account in there if not truth.is_collectable(account, now)][:count]


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_a_query_that_chooses_nobody_is_refused_and_leaves_nothing_behind(server: Server, folder: Path) -> None:
    write(server, folder / "a.toml", '.query = "users where followers > 10"')
    assert "query" in refused("crawl", "a.toml", "-q", code="no_seeds").problem
    assert not (folder / "a.db").exists()


def test_a_crawl_that_goes_on_may_choose_nobody_new(server: Server, folder: Path) -> None:
    key = server.service.dialect.account_key(1)
    write(server, folder / "a.toml", f' = ["{key}"]')
    assert cli.run(["crawl", "a.toml", "-q"]) == 0
    write(server, folder / "a.toml", '.query = "users where followers > 1000000"')
    assert cli.run(["crawl", "a.toml", "-q"]) == 0
    write(server, folder / "b.toml", '= { query = "users where followers > 1000000", store = "a.db" }')
    assert "a.db" in refused("crawl", "b.toml", "-q", code="no_seeds").problem


def test_seeds_that_opted_out_are_named_at_the_end_and_counted_in_status(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = shy(server, 2)
    dialect = server.service.dialect
    named = [f"@{dialect.handle_of(first, RealClock().now())}", dialect.account_key(second)]
    write(server, folder / "a.toml", f" = {json.dumps(named)}")
    assert cli.run(["crawl", "a.toml", "-q"]) == 0
    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if "2 seeds" in line and all(name in line for name in named)]
    assert cli.run(["status", "a.toml"]) == 0
    assert "2 seeds" in capsys.readouterr().out
    assert cli.run(["crawl", "a.toml", "-q", "--json"]) == 0
    assert result(capsys)["seeds_left_alone"] == 0, "only of this run"
    assert cli.run(["status", "a.toml", "--json"]) == 0
    assert result(capsys)["crawls"][0]["seeds_left_alone"] == 2
    assert cli.run(["completeness", "a.toml", "--by", "user", "--json"]) == 0
    lines = result(capsys)["user"]["lines"]
    assert named[0] in [line["subject"] for line in lines], "of its account no name is kept"
    assert [[part["cause"] for part in line["missing"]] for line in lines] == [["opted_out"], ["opted_out"]]
