"""Whatever a server sent, no command writes anything to a terminal that steers it, and no id file gets lines that are no ids."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hostile_store import fill_hostile

from bowerbird import cli
from bowerbird.cli.screens.output import printable

COMMANDS = {
    "status": (),
    "completeness": (),
    "gone": (),
    "history": (),
    "cascade": (),
    "places": (),
    "overlap": (),
    "sample": (),
    "dehydrate": (),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in which everything that comes from a server is hostile."""
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    asyncio.run(fill_hostile(str(tmp_path / "crawl.db")))
    return str(tmp_path / "crawl.db")


def arguments(command: str, place: str) -> list[str]:
    if command == "history":
        return ["history", "https://home.example/users/ada", place]
    return [command, place, *(("--service", "mammoth") if command == "dehydrate" else ())]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_what_steers_a_terminal(command: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(arguments(command, place))
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert said.strip()
    assert said == printable(said)
    assert "unexpected" not in said
    if command in ("status", "history"):
        assert "owned" in said


def test_a_post_whose_id_cannot_be_real_is_not_dehydrated(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["dehydrate", place, "--service", "mammoth"]) == 0
    assert capsys.readouterr().out.split() == ["6", "7"]
    for ending in ("txt", "csv", "jsonl"):
        assert cli.run(["dehydrate", place, "--service", "mammoth", "--out", str(tmp_path / f"ids.{ending}")]) == 0
        written = (tmp_path / f"ids.{ending}").read_text()
        assert "owned" not in written
        assert len(written.splitlines()) == 2 + (ending == "csv")
    capsys.readouterr()
    assert cli.run(["dehydrate", place, "--service", "mammoth", "--out", str(tmp_path / "more.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"]["unreal"] == 2


def test_an_error_that_quotes_a_server_is_printed_without_what_steers_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.toml").write_text('flow = "timelines"\nseeds = ["\\u001b[2J"]\n\n[service]\nname = "\\u001b[2J"\n')
    assert cli.run(["crawl", str(tmp_path / "c.toml")]) == 2
    said = capsys.readouterr().err
    assert said == printable(said)
