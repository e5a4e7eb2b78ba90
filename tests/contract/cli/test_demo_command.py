"""`bowerbird demo`: a whole crawl over real HTTP, with the truth beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bowerbird import cli


def test_a_short_demo_is_honest_and_never_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    # Seconds are what the demo is told: on a busy machine three may be too few for a first post.
    for seconds in ("3", "20", "60"):
        assert cli.run(["demo", "--seconds", seconds, "--quiet", "--json"]) == 0
        shown = capsys.readouterr()
        values = json.loads(shown.out)
        if values["posts_found"]:
            break
    assert values["refused"] == 0
    assert 0 < values["profiles_found"] <= values["profiles_there"]
    assert 0 < values["posts_found"] <= values["posts_there"]
    assert Path(values["database"]).exists()
    assert shown.err == "", "nothing but JSON, and no screens"
    assert cli.run(["status", values["database"], "--json"]) == 0
    crawls = json.loads(capsys.readouterr().out)["crawls"]
    assert [(crawl["name"], crawl["flow"]) for crawl in crawls] == [("demo", "timelines")]


def test_the_demo_says_what_to_try_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    assert cli.run(["demo", "--seconds", "3", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert all(f" {command} {tmp_path / 'data' / 'demo' / 'demo.db'}" in shown for command in ("status", "serve")), shown
    assert "flow show timelines" in shown
