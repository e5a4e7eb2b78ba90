"""However a crawl ended, the last lines of its summary and of `status` say what to do next, and doing so goes on with it."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
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


def told(place: str, capsys: Capsys) -> dict[str, Any]:
    """What `status` says of the only crawl, for machines."""
    capsys.readouterr()
    assert cli.run(["status", place, "--json"]) == 0
    values: dict[str, Any] = json.loads(capsys.readouterr().out)["crawls"][0]
    return values


def advice(lines: list[str]) -> tuple[list[str], list[str]]:
    """What is to be changed first, and the command that then goes on, as the last lines of a screen have it."""
    what, how = lines[-1].split(maxsplit=2)[0], lines[-1].strip().removeprefix("go on").strip()
    assert what == "go", lines[-1]
    firsts = [line.strip().removeprefix("first").strip() for line in lines if line.startswith("  first ")]
    return firsts, shlex.split(how)


class End(NamedTuple):
    """A kind of end: what the file says, what the command line says, and what the advice is about."""

    name: str
    stop: str = ""
    options: tuple[str, ...] = ()
    about: str = ""
    changed: str = ""


ENDS = {
    "calls of the file": End("mastodon", "calls = 5", about="raise calls under [stop] of a.toml: 5 of 5", changed="calls = 9"),
    "items of the file": End("mastodon", "items = 20", about="raise items under [stop] of a.toml", changed="items = 2000"),
    "posts of the file": End("mastodon", "posts = 20", about="raise posts under [stop] of a.toml", changed="posts = 2000"),
    "time of the file": End("mastodon", 'duration = "1s"', (), "raise duration under [stop] of a.toml", 'duration = "9s"'),
    "calls of the run": End("mastodon", options=("--calls", "5")),
    "items of the run": End("mastodon", options=("--items", "20")),
    "time of the run": End("mastodon", options=("--for", "1s")),
    "another name": End("mastodon", options=("--calls", "5", "--as", "other")),
    "money of the file": End("x", "dollars = 0.5", ("--yes",), "raise dollars under [stop] of a.toml", "dollars = 1"),
    "money of the run": End("x", options=("--dollars", "0.5", "--yes")),
    "calls of a run that had little money": End("x", options=("--dollars", "0.5", "--yes", "--calls", "3")),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDS)
def test_the_advised_command_goes_on_however_a_crawl_ended(kind: str, servers: dict[str, Server], capsys: Capsys) -> None:
    end = ENDS[kind]
    file = servers[end.name].crawl_file(Path("a.toml"), seeds=60, more=f"stop.{end.stop}" if end.stop else "")
    # Without an end of its own the second run would take as long as the limits of the server.
    firsts, words = advice(crawled(["a.toml", *end.options], capsys))
    place = "other.db" if "--as" in end.options else "a.toml"
    before = told(place, capsys)
    assert cli.run(["status", place]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert advice(shown) == (firsts, words), "status says the same"
    assert [end.about in each for each in firsts] == ([True] if end.about else [])
    assert before["go_on"] == shlex.join(words)
    if end.changed:
        file.write_text(file.read_text().replace(end.stop, end.changed))
        assert told(place, capsys)["go_on_after"] == [], "what is changed need not be changed again"
    assert words[:2] == ["bowerbird", "crawl"]
    crawled([*words[2:], *([] if "--calls" in words else ["--calls", "2"])], capsys)
    after = told(place, capsys)
    assert (after["name"], after["calls"] > before["calls"]) == (before["name"], True), (words, before["calls"])


def test_a_month_whose_money_is_used_up_is_told_with_the_day_on_which_it_goes_on(
    servers: dict[str, Server], capsys: Capsys
) -> None:
    file = servers["x"].crawl_file(Path("a.toml"), seeds=60)
    file.write_text(file.read_text() + "dollars = 0.5\n")
    lines = crawled(["a.toml", "--yes", "--for", "2s"], capsys)
    while not any("when the crawl may spend again" in line for line in lines):
        lines = crawled(["a.toml", "--yes", "--for", "2s"], capsys)
    firsts, words = advice(lines)
    said = re.fullmatch(
        r"wait until 1 (\w+) 20\d\d \(UTC\), when the crawl may spend again, or raise dollars under \[service\] of a.toml: "
        r"\$0\.\d+ of \$0.50 on sim in (\w+) spent, and the next call may cost more than is left",
        firsts[0],
    )
    assert said is not None, firsts
    assert said[1] != said[2]
    assert cli.run(["status", "a.toml"]) == 0
    shown = capsys.readouterr().out
    assert f"used up: {firsts[0]}" in shown
    assert advice(shown.splitlines()) == (firsts, words)
    before = told("a.toml", capsys)
    file.write_text(file.read_text().replace("dollars = 0.5", "dollars = 1"))
    crawled([*words[2:], "--calls", "2"], capsys)
    assert told("a.toml", capsys)["calls"] > before["calls"]


def test_a_file_that_was_changed_since_is_part_of_the_advice(servers: dict[str, Server], capsys: Capsys) -> None:
    file = servers["mastodon"].crawl_file(Path("a.toml"), seeds=30)
    _, words = advice(crawled(["a.toml", "--calls", "3"], capsys))
    assert words == ["bowerbird", "crawl", "a.toml"]
    file.write_text(file.read_text().replace("[service]", "[filters]\nmax_depth = 1\n[service]"))
    assert cli.run(["crawl", "a.toml", "--calls", "2"]) == 2, "it would be another crawl than before"
    go_on = shlex.split(told("a.toml", capsys)["go_on"])
    assert go_on == [*words, "--apply"]
    crawled([*go_on[2:], "--calls", "2"], capsys)
    assert shlex.split(told("a.toml", capsys)["go_on"]) == words


def test_what_a_crawl_needs_besides_its_file_is_part_of_the_command(servers: dict[str, Server], capsys: Capsys) -> None:
    """Seeds where the file has none, leave to skip bad ones, the vault: without them the file alone is refused."""
    Path("my crawls").mkdir()
    file = servers["mastodon"].crawl_file(Path("my crawls/a.toml"), seeds=1)
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("seeds")))
    keys = [servers["mastodon"].service.dialect.account_key(account) for account in range(20)]
    Path("home/config/vault").rename("keys")
    Path("home/config/vault.key").rename("keys.key")
    seeds = [word for key in (*keys, "@two words") for word in ("--seed", key)]
    given = ["my crawls/a.toml", *seeds, "--skip-bad", "--vault", "keys"]
    _, words = advice(crawled([*given, "--calls", "3"], capsys))
    assert words[2:] == given
    crawled([*words[2:], "--calls", "2"], capsys)
    told_by_file = shlex.split(told(given[0], capsys)["go_on"])
    assert told_by_file[2:-1] == given[:-1], "to look at a crawl takes no seeds in its file"
    told_by_store = shlex.split(told("my crawls/a.db", capsys)["go_on"])
    assert told_by_store[2:] == [*given[:-1], str(Path("keys").absolute())]


def test_a_crawl_that_has_asked_everything_says_that_nothing_is_left_to_do(servers: dict[str, Server], capsys: Capsys) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), flow="hydrate", seeds=0, more="")
    seeds = f'seeds = ["{servers["mastodon"].post_keys(1)[0]}"]'
    Path("a.toml").write_text(Path("a.toml").read_text().replace("seeds = []", seeds))
    lines = crawled(["a.toml"], capsys)
    assert lines[-1].startswith(
        "  done       there is nothing left to ask; more seeds in a.toml would be asked by: bowerbird crawl"
    )
    assert cli.run(["status", "a.toml"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == lines[-1]
    assert told("a.toml", capsys)["go_on"] is None


@pytest.mark.parametrize("command", ["stop", "pause"])
def test_controls_of_a_crawl_that_nobody_runs_say_how_to_go_on_with_it(
    command: str, servers: dict[str, Server], capsys: Capsys
) -> None:
    servers["mastodon"].crawl_file(Path("a.toml"), more="stop.calls = 4")
    crawled(["a.toml"], capsys)
    cli.run([command, "a.db"])
    said = capsys.readouterr().out
    assert "To go on, raise calls under [stop] of a.toml: 4 of 4 are reached, then: bowerbird crawl a.toml" in said


def bought(server: Server, file: str, capsys: Capsys) -> None:
    """A first crawl on a network that costs money, in the store that is named after its file."""
    server.crawl_file(Path(file), seeds=30)
    Path(file).write_text(Path(file).read_text() + "dollars = 2\n")
    crawled([file, "--yes", "--calls", "4"], capsys)




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
