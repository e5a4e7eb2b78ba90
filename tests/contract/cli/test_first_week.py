"""What a new user meets in the first week, on the command line, against simulated servers over real HTTP."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.ports import Database
from bowerbird.reports.seeds.unknown_seeds import HANDLES
from bowerbird.simulated.world.hashing import generator

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(flavour=name)) for name in ("mastodon", "takahe")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_token(server: Server, token: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", token)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base, *options]) == 0


def result(command: list[str], capsys: Capsys) -> dict[str, Any]:
    capsys.readouterr()
    cli.run([*command, "--json"])
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_a_crawl_that_may_ask_nothing_of_what_it_is_there_for_is_refused_before_it_begins(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Takahē shows anybody a profile and nobody's posts to guests: it was told to go on, several times, and failed."""
    server = servers["takahe"]
    server.crawl_file(Path("a.toml"), seeds=3, more="stop.calls = 9")
    now = RealClock().now()
    (account,) = server.service.truth.sample_accounts(1, generator(1, 5), now)
    handle = server.service.dialect.handle_of(account, now)
    Path("a.toml").write_text(Path("a.toml").read_text().replace("seeds = ", f'seeds = ["@{handle}"] #'))
    capsys.readouterr()
    error = refused("crawl", "a.toml", code="needs_credential")
    assert "timeline" in error.problem
    assert "bowerbird credentials add" in error.advice
    assert capsys.readouterr().out == ""
    assert not Path("a.db").exists()
    token = next(token.value for token in server.service.tokens if token.kind == "user")
    add_token(server, token, monkeypatch)
    assert cli.run(["crawl", "a.toml", "--calls", "2"]) == 0


def test_failed_crawl_names_the_refused_credential_and_the_command(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    server = servers["mastodon"]
    server.crawl_file(Path("a.toml"), seeds=3)
    add_token(server, "wrong", monkeypatch)
    assert cli.run(["crawl", "a.toml", "--calls", "5"]) == 2
    status = result(["status", "a.toml"], capsys)
    (crawl,) = status["crawls"]
    assert (crawl["state"], crawl["continue_with"]) == ("failed", "bowerbird crawl a.toml")
    assert [refusal["credential"] for refusal in status["refusals"]] == ["mine"]
    token = next(token.value for token in server.service.tokens if token.kind == "user")
    add_token(server, token, monkeypatch, "--replace")
    assert cli.run(["crawl", "a.toml", "--calls", "2"]) == 0


def test_the_first_picture_of_a_crawl_that_goes_on_counts_earlier_runs_as_later_ones_do(
    servers: dict[str, Server], capsys: Capsys
) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), seeds=20)
    before = result(["crawl", "a.toml", "--calls", "6", "--quiet"], capsys)
    capsys.readouterr()
    assert cli.run(["crawl", "a.toml", "--calls", "2", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    first = next(line for line in lines if "calls" in line)
    assert (first["calls"], first["posts"]) == (before["calls"], before["posts"])
    assert first["run"]["posts"] == 0


def test_status_and_gone_count_the_same_absent_accounts(servers: dict[str, Server], capsys: Capsys) -> None:
    server = servers["mastodon"]
    server.crawl_file(Path("a.toml"), seeds=1)
    Path("a.toml").write_text(Path("a.toml").read_text().replace("seeds = [", 'seeds = ["@nobody_1", "@nobody_2", '))
    gone = {"count": 0}
    while gone["count"] < 2:
        assert cli.run(["crawl", "a.toml", "--for", "1s"]) == 0
        gone = result(["gone", "a.toml", "--what", "users"], capsys)["users"]
    assert gone["absent_now"] == gone["count"] >= 2
    assert result(["status", "a.toml"], capsys)["gone"]["users"] == gone["absent_now"]
    with closing(sqlite3.connect("a.db")) as store, store:
        store.execute("update unavailable set until = since + 1")
    again = result(["gone", "a.toml", "--what", "users"], capsys)["users"]
    assert (again["count"], again["absent_now"]) == (gone["count"], 2), "the two handles stay unknown"


COMMANDS = (
    ["flow", "check", "a.toml"],
    ["flow", "list"],
    ["doctor", "a.toml"],
    ["plan", "a.toml", "--no-variants"],
    ["crawl", "a.toml", "--calls", "4"],
    ["status", "a.toml"],
    ["completeness", "a.toml"],
    ["gone", "a.toml"],
    ["overlap", "a.toml"],
    ["sample", "a.toml"],
    ["places", "a.toml"],
    ["pause", "a.toml"],
    ["stop", "a.toml"],
    ["backup", "a.toml", "copy.db"],
    ["credentials", "list"],
    ["status", "nowhere.db"],
)


def test_with_json_there_is_nothing_but_json_on_both_streams(servers: dict[str, Server], capsys: Capsys) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), seeds=3, more='stop.duration = "1h"')
    for command in COMMANDS:
        capsys.readouterr()
        cli.run([*command, "--json"])
        told = capsys.readouterr()
        for line in (*told.out.splitlines(), *told.err.splitlines()):
            assert isinstance(json.loads(line), dict), (command, line)
        assert len(told.out.splitlines()) + told.err.count('"error"') == 1, command


async def test_handles_that_led_to_nobody_are_found_without_reading_the_whole_log(database: Database) -> None:
    explain = "explain query plan" if database.dialect == "sqlite" else "explain"
    async with database.transaction() as tx:
        if database.dialect == "postgresql":
            await tx.execute("set local enable_seqscan = off")
        rows = await tx.fetch(f"{explain} {HANDLES}", 0)
    plan = " ".join(str(tuple(row.values()) if hasattr(row, "values") else tuple(row)) for row in rows)
    assert "calls_in_vain" in plan, plan


@pytest.mark.parametrize("flow", ["timelines", "graph", "robots", "sample"])
def test_a_crawl_whose_only_seed_is_nobody_says_so_and_does_not_ask_for_ever(flow: str, capsys: Capsys) -> None:
    """A batch of Bluesky leaves out whom it does not know, and robots go round."""
    with running(dialect="bluesky") as server:
        Path("a.toml").write_text(
            f'flow = "{flow}"\nseeds = ["@nobody.example"]\n'
            f'service = {{ provider = "bluesky", base = "{server.base}", name = "sim" }}\n'
        )
        ended = result(["crawl", "a.toml", "--for", "4m", "--quiet"], capsys)
    assert (ended["state"], ended["seeds_not_found"]) == ("failed", ["@nobody.example"]), ended["reason"]
    assert ended["reason"]["code"] == "no_seed_found"
    assert ended["calls"] < 10
