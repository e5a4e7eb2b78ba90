"""`crawl`, `status`, `pause` and `stop` name the command that continues a crawl."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from simulated_server import Server, running

from bowerbird import cli

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(dialect=name)) for name in ("mastodon", "x")}


@pytest.fixture(autouse=True)
def folder(servers: dict[str, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name, field, kind in (("mastodon", "ACCESS_TOKEN", "user"), ("x", "BEARER_TOKEN", "app")):
        token = servers[name].service.tokens.issue(kind, account=tmp_path.name, app=tmp_path.name)
        monkeypatch.setenv(f"BOWERBIRD_SECRET_{field}", token.value)
        added = ["credentials", "add", name, "--provider", name, "--kind", kind, "--server", servers[name].base]
        assert cli.run(added) == 0
    capsys.readouterr()
    return tmp_path


def crawled(options: list[str], capsys: Capsys, code: int = 0) -> list[str]:
    """Runs a crawl, and answers the lines of its summary."""
    capsys.readouterr()
    assert cli.run(["crawl", *options]) == code, capsys.readouterr().err
    return capsys.readouterr().out.splitlines()


def crawl_status(place: str, capsys: Capsys) -> dict[str, Any]:
    """The only crawl in the JSON of `status`."""
    capsys.readouterr()
    assert cli.run(["status", place, "--json"]) == 0
    values: dict[str, Any] = json.loads(capsys.readouterr().out)["crawls"][0]
    return values


def last_command(lines: list[str]) -> list[str]:
    """The words of the command in the last line of a screen."""
    head, found, command = lines[-1].partition("bowerbird ")
    assert found, lines[-1]
    assert "\n" not in head.strip(), lines[-1]
    return shlex.split(found + command)


class End(NamedTuple):
    """A way to end a run: the network, [stop] in the file, the options, and the words that continue the crawl."""

    network: str
    stop: str = ""
    options: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


ENDS = {
    "calls of the file": End("mastodon", "calls = 5"),
    "time of the file": End("mastodon", 'duration = "1s"'),
    "calls of the run": End("mastodon", options=("--calls", "5")),
    "time of the run": End("mastodon", options=("--for", "1s")),
    "another name": End("mastodon", options=("--calls", "5", "--as", "other"), more=("--as", "other")),
    "money of the file": End("x", "dollars = 0.5", ("--yes",)),
    "money of the run": End("x", options=("--dollars", "0.5", "--yes")),
}


@pytest.mark.parametrize("kind", ENDS)
def test_crawl_and_status_end_with_the_same_command(kind: str, servers: dict[str, Server], capsys: Capsys) -> None:
    end = ENDS[kind]
    servers[end.network].crawl_file(Path("a.toml"), seeds=60, more=f"stop.{end.stop}" if end.stop else "")
    expected = ["bowerbird", "crawl", "a.toml", *end.more]
    assert last_command(crawled(["a.toml", *end.options], capsys)) == expected
    place = "other.db" if end.more else "a.toml"
    assert crawl_status(place, capsys)["continue_with"] == shlex.join(expected)
    assert cli.run(["status", place]) == 0
    assert last_command(capsys.readouterr().out.splitlines()) == expected


def test_command_of_the_summary_continues_the_crawl(servers: dict[str, Server], capsys: Capsys) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), seeds=60)
    words = last_command(crawled(["a.toml", "--calls", "5", "--as", "other"], capsys))
    before = crawl_status("other.db", capsys)
    crawled([*words[2:], "--calls", "2"], capsys)
    after = crawl_status("other.db", capsys)
    assert (after["name"], after["calls"] > before["calls"]) == (before["name"], True)


def test_json_summary_names_the_command(servers: dict[str, Server], capsys: Capsys) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), seeds=60)
    assert json.loads(crawled(["a.toml", "--calls", "3", "--json"], capsys)[-1])["continue_with"] == "bowerbird crawl a.toml"


def test_limit_of_the_file_that_is_reached_is_named_at_the_next_start(servers: dict[str, Server], capsys: Capsys) -> None:
    file = servers["mastodon"].crawl_file(Path("a.toml"), seeds=60, more="stop.calls = 5")
    assert not [line for line in crawled(["a.toml"], capsys) if "[stop]" in line]
    before = crawl_status("a.toml", capsys)
    assert [line for line in crawled(["a.toml"], capsys) if "5 calls" in line and "[stop]" in line]
    assert crawl_status("a.toml", capsys)["items"] == before["items"]
    file.write_text(file.read_text().replace("calls = 5", "calls = 9"))
    assert not [line for line in crawled(["a.toml"], capsys) if "[stop]" in line]
    assert crawl_status("a.toml", capsys)["items"] > before["items"]


def test_status_says_when_the_money_of_a_month_resets(servers: dict[str, Server], capsys: Capsys) -> None:
    server = servers["x"]
    server.crawl_file(Path("a.toml"), seeds=30)
    Path("a.toml").write_text(Path("a.toml").read_text() + "dollars = 2\n")
    crawled(["a.toml", "--yes", "--calls", "4"], capsys)
    assert cli.run(["status", "a.toml", "--json"]) == 0
    (month,) = json.loads(capsys.readouterr().out)["months"].values()
    resets_at = datetime.fromisoformat(month["resets_at"])
    assert cli.run(["status", "a.toml"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if "$2.00" in line and f"1 {resets_at:%B %Y}" in line]


def test_options_that_the_crawl_needs_are_part_of_the_command(servers: dict[str, Server], capsys: Capsys) -> None:
    """Seeds of the command line, leave to skip bad ones, the vault: without them the file alone is refused."""
    Path("my crawls").mkdir()
    file = servers["mastodon"].crawl_file(Path("my crawls/a.toml"), seeds=1)
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("seeds")))
    keys = [servers["mastodon"].service.dialect.account_key(account) for account in range(20)]
    Path("home/config/vault").rename("keys")
    Path("home/config/vault.key").rename("keys.key")
    seeds = [word for key in (*keys, "@two words") for word in ("--seed", key)]
    given = ["my crawls/a.toml", *seeds, "--skip-bad", "--vault", "keys"]
    words = last_command(crawled([*given, "--calls", "3"], capsys))
    assert words[2:] == given
    crawled([*words[2:], "--calls", "2"], capsys)
    absolute = [*given[:-1], str(Path("keys").absolute())]
    for place in (given[0], "my crawls/a.db"):
        assert shlex.split(crawl_status(place, capsys)["continue_with"])[2:] == absolute


def test_command_uses_the_file_that_the_user_names(servers: dict[str, Server], capsys: Capsys) -> None:
    """A folder that was moved: the path that the store remembers is that of another place."""
    Path("before").mkdir()
    servers["mastodon"].crawl_file(Path("before/a.toml"), seeds=20)
    crawled(["before/a.toml", "--calls", "3"], capsys)
    Path("before").rename("after")
    assert crawl_status("after/a.toml", capsys)["continue_with"] == "bowerbird crawl after/a.toml"
    assert crawl_status("after/a.db", capsys)["continue_with"] == "bowerbird crawl before/a.toml"


def test_complete_crawl_has_no_command(servers: dict[str, Server], capsys: Capsys) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), flow="hydrate", seeds=0, more="")
    seeds = f'seeds = ["{servers["mastodon"].post_keys(1)[0]}"]'
    Path("a.toml").write_text(Path("a.toml").read_text().replace("seeds = []", seeds))
    assert "bowerbird crawl" not in "\n".join(crawled(["a.toml"], capsys))
    assert crawl_status("a.toml", capsys)["continue_with"] is None
    assert cli.run(["status", "a.toml"]) == 0
    assert "bowerbird crawl" not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["stop", "pause"])
def test_controls_of_a_crawl_that_does_not_run_name_the_command(command: str, servers: dict[str, Server], capsys: Capsys) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), more="stop.calls = 4")
    crawled(["a.toml"], capsys)
    assert cli.run([command, "a.db"]) == (0 if command == "stop" else 1)
    assert capsys.readouterr().out.rstrip().endswith("bowerbird crawl a.toml")


def test_databases_of_others_in_the_folder_are_left_as_they_are(servers: dict[str, Server], capsys: Capsys) -> None:
    with closing(sqlite3.connect("theirs.db")) as theirs, theirs:
        theirs.execute("create table crawls (legs integer)")
    theirs.close()
    with closing(sqlite3.connect("damaged.db")) as damaged, damaged:
        damaged.execute("create table crawls (legs integer)")
        damaged.execute("create table schema_version (legs integer)")
    damaged.close()
    Path("broken.db").write_bytes(b"SQLite format 3\0 and no more")
    before = {path: path.read_bytes() for path in map(Path, ("theirs.db", "broken.db"))}
    servers["mastodon"].crawl_file(Path("a.toml"), seeds=5)
    crawled(["a.toml", "--calls", "2"], capsys)
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path.name for path in Path().glob("theirs*")) == ["theirs.db"]
