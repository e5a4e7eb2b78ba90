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
from simulated_server import Server, running

from bowerbird import cli
from failures import command_error

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


def test_a_crawl_that_costs_money_does_not_start_before_somebody_agrees(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crawl", str(file)]) == 2
    said = capsys.readouterr().err
    assert "it may spend $2.00 a month on sim (dollars under [service]), and $1.50 in all (dollars under [stop])" in said
    assert "Start it once with --yes" in said
    assert not (file.parent / "crawl.db").exists()


def test_an_answer_once_given_holds_for_every_restart_until_more_may_be_spent(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["crawl", str(file), "--calls", "1", "--yes", "--json"]) == 0
    assert cli.run(["crawl", str(file), "--calls", "1", "--json"]) == 0
    assert cli.run(["crawl", str(with_dollars(file, 1)), "--calls", "1", "--json"]) == 0, "less is agreed to as well"
    capsys.readouterr()
    assert cli.run(["crawl", str(with_dollars(file, 3)), "--calls", "1"]) == 2
    assert "may now spend more than somebody agreed to" in capsys.readouterr().err


def test_the_doctor_tells_less_that_was_agreed_to_from_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def money() -> str:
        cli.run(["doctor", str(file), "--json"])
        return str(next(each["found"] for each in result(capsys)["checks"] if each["name"] == "money"))

    assert "nobody has agreed to it yet: the first start asks" in money()
    assert cli.run(["crawl", str(file), "--calls", "1", "--yes", "--json"]) == 0
    assert "agree" not in money()
    with_dollars(file, 3)
    assert "so far somebody agreed to $2.00 a month, and to $1.50 in all: the next start asks, or takes --yes" in money()




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
    assert re.search(r"The plan expects about \$[01]\.\d\d ", said)
    assert "Go on? [y/N]" in said
    assert process.returncode == code
    assert (file.parent / "crawl.db").exists() == (code == 0)


def test_what_is_spent_is_told_in_dollars_on_every_screen(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crawl", str(file), "--yes"]) == 0
    summary = capsys.readouterr().out
    assert "of $1.50 spent, and the next call may cost more than is left" in summary
    for command in (["status"], ["doctor"]):
        cli.run([*command, str(file)])
        said = capsys.readouterr().out
        assert "of $2.00 on sim in" in said
        assert "of $1.50 by this crawl in all" in said
        assert "/money" not in said + summary
    assert cli.run(["status", str(file), "--json"]) == 0
    values = result(capsys)
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
