"""Crawls that cost money, on the command line, against a simulated X over real HTTP: asked once, and told everywhere."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from simulated_server import Server, running

from bowerbird import cli
from failures import command_error
from snapshots import Snapshot

PROGRAM = [sys.executable, "-c", "from bowerbird.cli import main; main()"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(dialect="x") as started:
        yield started


@pytest.fixture(autouse=True)
def folder(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    token = server.service.tokens.issue("app", account=tmp_path.name, app=tmp_path.name)
    monkeypatch.setenv("BOWERBIRD_SECRET_BEARER_TOKEN", token.value)
    assert cli.run(["credentials", "add", "mine", "--provider", "x", "--kind", "app", "--server", server.base]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def file(server: Server, folder: Path) -> Path:
    return with_dollars(server.crawl_file(folder / "crawl.toml", seeds=30, more="stop.dollars = 1.5\nstop.duration = '4m'"), 2)


def with_dollars(file: Path, dollars: float) -> Path:
    text = "".join(line for line in file.read_text().splitlines(keepends=True) if not line.startswith("dollars ="))
    file.write_text(text + f"dollars = {dollars}\n")
    return file


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_a_crawl_that_costs_money_does_not_start_before_somebody_agrees(file: Path) -> None:
    error = refused("crawl", file, code="needs_agreement")
    assert all(value in error.problem for value in ("$2.00", "sim", "[service]", "$1.50", "[stop]"))
    assert "--yes" in error.advice
    assert not (file.parent / "crawl.db").exists()


def test_an_answer_once_given_holds_for_every_restart_until_more_may_be_spent(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["crawl", str(file), "--calls", "1", "--yes", "--json"]) == 0
    assert cli.run(["crawl", str(file), "--calls", "1", "--json"]) == 0
    assert cli.run(["crawl", str(with_dollars(file, 1)), "--calls", "1", "--json"]) == 0, "less is agreed to as well"
    capsys.readouterr()
    assert "$3.00" in refused("crawl", with_dollars(file, 3), "--calls", "1", code="needs_agreement").problem


def test_the_doctor_tells_less_that_was_agreed_to_from_nothing(
    file: Path, capsys: pytest.CaptureFixture[str], snapshot: Snapshot
) -> None:
    def money() -> str:
        cli.run(["doctor", str(file), "--json"])
        return str(next(each["found"] for each in result(capsys)["checks"] if each["name"] == "money"))

    never = money()
    assert "$2.00" in never
    assert cli.run(["crawl", str(file), "--calls", "1", "--yes", "--json"]) == 0
    agreed = money()
    assert "--yes" not in agreed
    with_dollars(file, 3)
    more = money()
    assert all(value in more for value in ("$3.00", "$2.00", "$1.50", "--yes")), more
    snapshot("doctor_about_money", "\n".join((never, agreed, more)), numbers=False)


@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("y\n", 0)])
def test_in_a_terminal_it_asks_and_says_what_the_plan_expects(file: Path, answer: str, code: int) -> None:
    here, there = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "crawl", str(file), "--calls", "1"], stdin=there, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    os.write(here, answer.encode())
    said, _ = process.communicate(timeout=240)
    os.close(here)
    os.close(there)
    assert re.search(r"\$[01]\.\d\d ", said.partition("plan")[2])
    assert "[y/N]" in said
    assert process.returncode == code
    assert (file.parent / "crawl.db").exists() == (code == 0)


def test_what_is_spent_is_told_in_dollars_on_every_screen(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crawl", str(file), "--yes"]) == 0
    summary = capsys.readouterr().out
    assert "of $1.50" in summary
    for command in (["status"], ["doctor"]):
        cli.run([*command, str(file)])
        said = capsys.readouterr().out
        assert [line for line in said.splitlines() if "of $2.00" in line and "sim" in line]
        assert "of $1.50" in said
        assert "/money" not in said + summary
    assert cli.run(["status", str(file), "--json"]) == 0
    values = result(capsys)
    assert values["crawls"][0]["reason"]["code"] == "budget_spent"
    spent = values["crawls"][0]["dollars_spent"]
    assert 1.2 < spent <= values["crawls"][0]["dollars_allowed"] == 1.5
    assert values["months"]["sim"]["dollars_spent"] == spent
    assert not any("money" in each["bucket"] for each in values["ledgers"])
    cli.run(["doctor", str(file), "--json"])
    assert result(capsys)["months"]["sim"] | {"resets_at": None} == values["months"]["sim"] | {"resets_at": None}


def test_a_run_may_be_given_a_budget_of_its_own(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crawl", str(file), "--yes", "--json", "--dollars", "0.5"]) == 0
    first = result(capsys)
    assert 0.3 < first["dollars_spent"] <= first["dollars_allowed"] == 0.5
    assert cli.run(["crawl", str(file), "--yes", "--json", "--dollars", "0.25"]) == 0
    second = result(capsys)
    assert first["dollars_spent"] < second["dollars_spent"] <= second["dollars_allowed"]
    assert second["dollars_allowed"] == round(first["dollars_spent"] + 0.25, 3)


def test_a_network_that_costs_nothing_takes_no_dollars_and_asks_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "m.toml"
    file.write_text(
        'flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "https://m.example"\ndollars = 5\n'
    )
    assert "m.toml:6: " in command_error("crawl", file, code="conflicting_options").problem
