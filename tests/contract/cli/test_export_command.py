"""`bowerbird export` as a user meets it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from export_scene import filled, opened

from bowerbird import cli


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    async def fill() -> None:
        async with opened(tmp_path / "crawl.db") as database:
            await filled(database)

    asyncio.run(fill())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    return tmp_path


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_one_line_makes_a_file_and_says_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "posts", "-o", "posts.csv"]) == 0
    said = capsys.readouterr().out
    assert all(value in said for value in ("14 rows", "posts", "posts.csv"))
    assert cli.run(["export", "users", "crawl.db", "-o", "users", "--format", "jsonl", "--json"]) == 0
    told = result(capsys)
    assert (told["rows"], told["format"]) == (3, "jsonl")
    assert [file["name"] for file in told["files"]] == ["users-0001.jsonl"]


def test_options_choose_rows(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--since", "2026-04-01", "--until", "2026-05-01", "--lang", "pt", "--user", "@u2", "--word", "flood"]
    assert cli.run(["export", "posts", *chosen, "-o", "a.jsonl", "--json"]) == 0
    assert result(capsys)["rows"] == 1


def test_without_a_file_rows_go_to_standard_output(store: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.run(["export", "posts", "--ids"]) == 0
    assert len(capfdbinary.readouterr().out.splitlines()) == 14
    assert cli.run(["export", "users", "--format", "csv", "--pseudonyms"]) == 0
    told = capfdbinary.readouterr().out.decode()
    assert told.startswith('"id","network"')
    assert "u1" not in told


def test_a_network_is_a_graph(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "network", "--kind", "follow", "-o", "net.gexf", "--json"]) == 0
    told = result(capsys)
    assert (told["nodes"], told["edges"]) == (3, 2)
    assert "--out" in str(refused("export", "network", code="needs_option"))


def test_the_key_of_pseudonyms_is_kept_in_the_vault(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        assert cli.run(["export", "posts", "--pseudonyms", "-o", f"{name}.csv"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    capsys.readouterr()
    assert cli.run(["credentials", "list"]) == 0
    assert "pseudonyms" in capsys.readouterr().out
    problem = refused("export", "post", "-o", "c.csv", code="unknown_name").problem
    assert ("'post'" in problem, "'posts'" in problem) == (True, True)


def test_the_key_of_pseudonyms_is_made_once_and_private(store: Path) -> None:
    for name in ("a", "b"):
        assert cli.run(["export", "posts", "--pseudonyms", "--key", "my.key", "-o", f"{name}.csv"]) == 0
    assert (store / "a.csv").read_bytes() == (store / "b.csv").read_bytes()
    assert (store / "my.key").stat().st_mode & 0o077 == 0
    (store / "my.key").write_text("no key", encoding="utf-8")
    command = ["export", "posts", "--pseudonyms", "--key", "my.key", "-o", "c.csv"]
    assert "my.key" in refused(*command, code="file_damaged").problem


@pytest.mark.parametrize(
    ("arguments", "code", "values"),
    [
        (["export", "cats"], "unknown_name", ("'cats'",)),
        (["export", "posts", "--sample", "-1"], "invalid", ("--sample", "-1")),
        (["export", "posts", "--since", "soon"], "invalid", ("'soon'", "2026-01-31")),
        (["export", "posts", "--new"], "needs_option", ("--new", "--out")),
        (["export", "posts", "--raw", "-o", "a.csv"], "conflicting_options", ("--raw",)),
        (["export", "posts", "--json"], "needs_option", ("--out", "JSON")),
        (["export", "calls", "--place", "Lisbon", "-o", "a.csv"], "unsupported", ("calls", "--place")),
    ],
)
def test_what_cannot_be_is_said_with_what_to_do(store: Path, arguments: list[str], code: str, values: tuple[str, ...]) -> None:
    told = str(refused(*arguments, code=code))
    assert [value for value in values if value not in told] == []
