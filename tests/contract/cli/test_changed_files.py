"""A crawl file that was changed since its crawl began: what the crawl makes of it is said, and done when the user says so."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from simulated_server import Server, running

import bowerbird
from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.simulated.world.hashing import generator

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def folder(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    token = server.service.tokens.issue("user", account=tmp_path.name, app=tmp_path.name)
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", token.value)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--kind", "user", "--server", server.base]) == 0
    capsys.readouterr()
    return tmp_path


def written(server: Server, *seeds: str, more: str = "") -> str:
    Path("a.toml").write_text(
        f'flow = "timelines"\nseeds = {json.dumps(seeds)}\n{more}\n'
        f'[service]\nname = "sim"\nprovider = "mastodon"\nbase = "{server.base}"\n'
    )
    return "a.toml"


def people(server: Server, count: int) -> list[tuple[str, str]]:
    """Accounts that anybody may read: key and handle."""
    service, now = server.service, RealClock().now()
    chosen = service.truth.sample_accounts(count, generator(1, 5), now)
    return [(service.dialect.account_key(each), f"@{service.dialect.handle_of(each, now)}") for each in chosen]


def crawled(*options: str) -> None:
    """Crawls until nothing is left to ask before something comes round."""
    while True:
        assert cli.run(["crawl", "a.toml", "--for", "1s", *options]) == 0
        with closing(sqlite3.connect("a.db")) as store:
            if store.execute("select count(*) from tasks where ready = 1 or state = 'leased'").fetchone() == (0,):
                return


def asked(target: str) -> list[tuple[str, str]]:
    """Facet and state of what the store asks about a target."""
    with closing(sqlite3.connect("a.db")) as store, store:
        rows: list[tuple[str, str]] = store.execute(
            "select l.facet, t.state from tasks t join lanes l on l.lane = t.lane where t.target = ? order by 1", (target,)
        ).fetchall()
    return rows


def goes_on(target: str) -> int:
    """How many questions about a target come round by themselves."""
    with closing(sqlite3.connect("a.db")) as store, store:
        row = store.execute("select count(*) from tasks where target = ? and (ready = 1 or due is not null)", (target,))
        return int(row.fetchone()[0])


def changes(kind: str, target: str) -> list[tuple[str, str]]:
    """Who recorded a change of this kind for a target, and why."""
    with closing(sqlite3.connect("a.db")) as store:
        rows = store.execute("select who, why from changes where kind = ? and target = ? order by 1, 2", (kind, target))
        return rows.fetchall()


def doubts(capsys: Capsys) -> dict[str, dict[str, Any]]:
    """What the doctor warns of."""
    capsys.readouterr()
    cli.run(["doctor", "a.toml", "--json"])
    found = json.loads(capsys.readouterr().out)
    return {each["name"]: each for each in found["checks"] if each["verdict"] == "warning"}


def test_apply_retires_seeds_that_the_file_no_longer_names(server: Server, capsys: Capsys) -> None:
    (first, _), (second, _) = people(server, 2)
    written(server, first, second)
    crawled()
    written(server, first)
    capsys.readouterr()
    assert cli.run(["crawl", "a.toml", "--calls", "1", "--apply"]) == 0
    assert "1 seed " in capsys.readouterr().out
    assert ("profiles", "retired") in asked(second)
    assert goes_on(second) == 0 < goes_on(first)
    rows = changes("retired", second)
    assert rows
    assert {who for who, _ in rows} == {"user"}
    assert cli.run(["status", "a.toml", "--json"]) == 0
    lanes = json.loads(capsys.readouterr().out)["lanes"]
    assert sum(lane["tasks"].get("retired", {"value": 0})["value"] for lane in lanes) > 0


def test_apply_twice_changes_seeds_once(server: Server, capsys: Capsys) -> None:
    (first, _), (second, _) = people(server, 2)
    written(server, first, second)
    crawled()
    written(server, first)
    crawled("--apply")
    recorded = changes("retired", second)
    capsys.readouterr()
    crawled("--apply")
    assert changes("retired", second) == recorded
    assert "etired" not in capsys.readouterr().out


def test_a_start_without_apply_keeps_seeds_and_says_nothing(server: Server, capsys: Capsys) -> None:
    (first, _), (second, _) = people(server, 2)
    written(server, first, second)
    crawled()
    before = doubts(capsys)
    written(server, first)
    assert doubts(capsys) == before
    capsys.readouterr()
    crawled()
    assert second not in capsys.readouterr().out
    assert {state for _, state in asked(second)} <= {"waiting", "asleep"}
    assert goes_on(second) > 0


def test_apply_resumes_seeds_that_the_file_names_again(server: Server) -> None:
    (first, _), (second, _) = people(server, 2)
    for seeds, options in (((first, second), ()), ((first,), ("--apply",)), ((first, second), ())):
        written(server, *seeds)
        crawled(*options)
    assert goes_on(second) == 0, "a start without --apply does not resume it"
    crawled("--apply")
    assert ("profiles", "asleep") in asked(second), "looked up, and asleep until it comes round"
    ((who, why),) = changes("taken_up", second)
    assert (who, bool(why)) == ("user", True)


def test_apply_retires_the_account_that_a_handle_led_to(server: Server) -> None:
    (first, _), (second, handle), (third, other) = people(server, 3)
    written(server, first, handle, other)
    crawled()
    assert asked(second), "the handle led to its account"
    written(server, first, third)
    crawled("--apply")
    assert (goes_on(second), goes_on(third)) == (0, 1)
    assert "retired" not in {state for _, state in asked(third)}, "it is named by its key now"


def test_apply_keeps_an_account_that_the_file_names_by_its_handle_now(server: Server) -> None:
    """What a handle stands for is known only after it was asked: until then its key looks like a former seed."""
    (first, _), (second, handle) = people(server, 2)
    written(server, first, second)
    crawled()
    written(server, first, handle)
    crawled("--apply")
    assert goes_on(second) > 0


def test_python_run_with_apply_retires_seeds(server: Server) -> None:
    (first, _), (second, _) = people(server, 2)
    written(server, first, second)
    crawled()
    written(server, first)
    lines: list[str] = []
    for apply, count in ((False, 1), (True, 0)):
        bowerbird.run("a.toml", limits=bowerbird.Limits(calls=1), apply=apply, say=lines.append)
        assert (goes_on(second) > 0) == bool(count)
    assert len([line for line in lines if "1 seed " in line]) == 1


def test_the_doctor_says_that_the_file_differs_from_the_plan(server: Server, capsys: Capsys) -> None:
    (first, _), *_ = people(server, 1)
    written(server, first)
    crawled()
    assert "plan of the crawl" not in doubts(capsys)
    written(server, first, more='[filters]\nlanguages = ["pt"]')
    found = doubts(capsys)["plan of the crawl"]
    assert "filters.languages" in found["found"]
    assert "pt" in found["found"]
    assert "`bowerbird crawl a.toml --apply`" in found["advice"]


def test_commands_follow_a_renamed_file_to_the_crawl_that_it_was_run_as(server: Server, capsys: Capsys) -> None:
    (first, _), *_ = people(server, 1)
    Path(written(server, first)).write_text(f'store = "a.db"\n{Path("a.toml").read_text()}')
    crawled()
    Path("a.toml").rename("b.toml")
    assert cli.run(["crawl", "b.toml", "--as", "a", "--calls", "1"]) == 0
    for command in ("completeness", "status", "sample"):
        capsys.readouterr()
        assert cli.run([command, "b.toml", "--json"]) == 0, capsys.readouterr().err
        values = json.loads(capsys.readouterr().out)
        assert Path(values["store"]).name == "a.db"
    capsys.readouterr()
    assert cli.run(["pause", "b.toml"]) == 1, "nobody runs it"
    assert "bowerbird crawl b.toml --as a" in capsys.readouterr().out
    assert cli.run(["overlap", "b.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["crawl"] == "a"
    assert cli.run(["crawl", "b.toml", "--as", "a", "--calls", "1"]) == 0, "as it says"


def test_a_crawl_that_is_not_there_is_not_guessed(server: Server) -> None:
    (first, _), *_ = people(server, 1)
    Path(written(server, first)).write_text(f'store = "a.db"\n{Path("a.toml").read_text()}')
    crawled()
    Path("b.toml").write_text(Path("a.toml").read_text())
    error = refused("overlap", "b.toml", code="unknown_crawl")
    assert "'b'" in error.problem, "a copy was never run"
    assert ": a." in error.advice
    assert "--crawl" in error.advice
