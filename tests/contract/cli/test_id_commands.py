"""`crawl --seed`, `gone` and `dehydrate` as a user meets them, against a simulated service over real HTTP."""

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

from bowerbird import cli
from bowerbird.clock import RealClock


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture
def folder(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", next(iter(server.service.tokens)).value)
    monkeypatch.chdir(tmp_path)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0
    capsys.readouterr()
    return tmp_path


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def open_account(server: Server) -> int:
    now = RealClock().now()
    return next(n for n in range(300) if server.service.truth.is_available(n, now) and server.service.world.people.rate[n] > 0)


def test_seeds_may_come_from_the_command_line_alone(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "a.toml"
    file.write_text(f'flow = "timelines"\n[service]\nname = "sim"\nprovider = "mastodon"\nbase = "{server.base}"\n')
    assert "a.toml" in refused("crawl", file, code="no_seeds").problem
    account = open_account(server)
    handle = server.service.dialect.handle_of(account, RealClock().now())
    key = server.service.dialect.account_key(account + 1)
    assert cli.run(["crawl", str(file), "--seed", f"@{handle}", "--seed", key, "--calls", "3", "--quiet", "--json"]) == 0
    assert result(capsys)["users"] > 0


def test_what_is_gone_is_listed_and_what_is_not_is_dehydrated(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = open_account(server)
    posts = server.service.posts_to_find(
        server.service.dialect.account_key(account), server.service.world.settings.start, RealClock().now(), RealClock().now()
    )
    (folder / "ids.txt").write_text("\n".join([*posts, "1"]))
    file = folder / "a.toml"
    file.write_text(
        f'flow = "hydrate"\nseeds.file = "ids.txt"\n[service]\nname = "sim"\nprovider = "mastodon"\nbase = "{server.base}"\n'
    )
    assert cli.run(["crawl", str(file), "--quiet"]) == 0
    capsys.readouterr()
    assert cli.run(["gone", str(file), "--json"]) == 0
    told = result(capsys)
    gone = {key for key, at in posts.items() if at is not None} | {"1"}
    assert {line["id"].rpartition("/")[2] for line in told["posts"]["lines"]} == gone
    assert (told["users"]["count"], told["relations"]["count"]) == (0, 0)
    assert cli.run(["gone", str(file)]) == 0
    shown = capsys.readouterr().out
    assert all(key in shown for key in gone)
    assert cli.run(["status", str(file)]) == 0
    assert "`bowerbird gone`" in capsys.readouterr().out
    assert cli.run(["dehydrate", str(file)]) == 0
    written = set(capsys.readouterr().out.split())
    assert posts.keys() - gone <= written
    assert written.isdisjoint(gone)
    assert cli.run(["dehydrate", str(file), "--out", "out.csv"]) == 0
    assert Path("out.csv").read_text("utf-8").splitlines()[0] == "id"
    capsys.readouterr()
    with closing(sqlite3.connect(folder / "a.db")) as stored, stored:
        stored.execute("update posts set deleted_at = 1 where post_no in (select min(post_no) from posts)")
    stored.close()
    assert cli.run(["dehydrate", str(file), "--out", "less.txt"]) == 0
    assert cli.run(["dehydrate", str(file), "--out", "again.txt", "--json"]) == 0
    assert result(capsys)["left_out"] == {"deleted": 1, "opted_out": 0, "not_by_id": 0, "unreal": 0}
    for arguments, code, value in (
        (["dehydrate", str(file), "--out", "out.csv"], "already_exists", "out.csv"),
        (["dehydrate", str(file), "--out", "out.xlsx"], "unknown_format", "out.xlsx"),
        (["dehydrate", str(file), "--service", "other"], "needs_option", "sim"),
        (["dehydrate", str(file), "--json"], "needs_option", "--out"),
        (["gone", str(file), "--out", "gone.csv"], "needs_option", "--what"),
    ):
        assert value in str(refused(*arguments, code=code))
