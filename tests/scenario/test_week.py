"""A researcher's first week on one network, in one process: every thing is one command."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.evaluate.week import THINGS, evaluate_week
from bowerbird.evaluate.week.running import Ran, Runner

Capture = pytest.CaptureFixture[str]


def test_every_thing_of_a_first_week_is_one_command(monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    def in_this_process(folder: Path) -> Runner:
        monkeypatch.setenv("BOWERBIRD_HOME", str(folder / "home"))
        monkeypatch.chdir(folder)

        def run(words: Sequence[str], given: str) -> Ran:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
            capfd.readouterr()
            code = cli.run(list(words))
            told = capfd.readouterr()
            return Ran(code, told.out, told.err)

        return run

    figures = evaluate_week(networks=["x"], run=in_this_process)
    monkeypatch.chdir("/")
    failed = {row["thing"]: why for row in figures["rows"] for why in row["failed"].values()}
    unbuilt = {thing: why for thing, why in failed.items() if "No such command" in why}
    assert failed == unbuilt
    assert len(unbuilt) <= 4
    assert figures["things"] == len(THINGS) == 20
