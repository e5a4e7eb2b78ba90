"""`bowerbird export` as a user meets it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
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
    assert "14 rows of posts written: posts.csv, as csv." in capsys.readouterr().out
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
    assert cli.run(["export", "network"]) == 2
    assert "--out" in capsys.readouterr().err


def test_the_key_of_pseudonyms_is_kept_in_the_vault(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        assert cli.run(["export", "posts", "--pseudonyms", "-o", f"{name}.csv"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    capsys.readouterr()
    assert cli.run(["credentials", "list"]) == 0
    assert "pseudonyms" in capsys.readouterr().out
    assert cli.run(["export", "post", "-o", "c.csv"]) == 2
    assert "did you mean 'posts'" in capsys.readouterr().err


def test_the_key_of_pseudonyms_is_made_once_and_private(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        assert cli.run(["export", "posts", "--pseudonyms", "--key", "my.key", "-o", f"{name}.csv"]) == 0
    assert (store / "a.csv").read_bytes() == (store / "b.csv").read_bytes()
    assert (store / "my.key").stat().st_mode & 0o077 == 0
    (store / "my.key").write_text("no key", encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["export", "posts", "--pseudonyms", "--key", "my.key", "-o", "c.csv"]) == 2
    assert "holds no key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "cats"], "nothing called 'cats'"),
        (["export", "posts", "--sample", "-1"], "neither a share"),
        (["export", "posts", "--since", "soon"], "is no time"),
        (["export", "posts", "--new"], "--new needs a folder"),
        (["export", "posts", "--raw", "-o", "a.csv"], "--raw is for JSON lines"),
        (["export", "posts", "--json"], "name a file with --out"),
        (["export", "calls", "--place", "Lisbon", "-o", "a.csv"], "nothing is judged of calls"),
    ],
)
def test_what_cannot_be_is_said_with_what_to_do(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert cli.run(arguments) == 2
    assert words in capsys.readouterr().err
