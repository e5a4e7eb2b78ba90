"""`bowerbird completeness` on both databases: what it prints, and what it exports."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bowerbird import cli
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=24, seed=338, following=5.0, posts_per_day=3.0, longest_history=120, history=timedelta(days=90))
FLOW = """
flow.seeds = ["profiles"]
flow.facets.profiles.revisit = "1h"
flow.facets.timeline.ranker = "fifo"
flow.facets.followers.ranker = "fifo"
flow.facets.followers.max_pages = 1
flow.facets.followers.hints.limit = "2"
flow.edges = [
    {from = "profiles", to = "timeline", take = "asked", when = "news and not protected"},
    {from = "profiles", to = "followers", take = "asked"},
]
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store after a small crawl."""
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    store = str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock)
        async with laboratory.crawl(laboratory.plan(FLOW, laboratory.keys(), "stop.calls = 50", store=store)) as crawl:
            await laboratory.run(crawl)

    run_virtual(main, start=START)
    return store


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_it_prints_and_exports_the_same_lines(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["completeness", place]) == 0
    shown = capsys.readouterr().out
    assert all(f"by {view}" in shown for view in ("user", "query", "stream", "day"))
    assert "known missing" in shown
    assert "nothing of this kind was asked for" in shown
    assert cli.run(["completeness", place, "--by", "user", "--top", "500", "--json"]) == 0
    view = result(capsys)["user"]
    total, lines = view["total"], view["lines"]
    assert total["entries"] == len(lines) > 24
    assert total["captured"] == sum(line["captured"] for line in lines)
    assert total["causes"]["budget"] > 0
    assert total["unbounded"] == sum(line["high"] is None for line in lines) > 0
    assert total["high"] is None
    assert f"known missing at least {total['low']:,}" in shown
    cut = [line for line in lines if line["items"] == "followers" and line["missing"]]
    assert {part["why"] for line in cut for part in line["missing"]} >= {"the flow ends listings after page 1"}
    for name in ("out.csv", "out.jsonl"):
        assert cli.run(["completeness", place, "--by", "user", "--out", name]) == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["captured"]) for row in rows) == total["captured"]
    assert sum(int(row["budget"]) for row in rows) == total["causes"]["budget"]
    exported = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(line["subject"] + line["items"] for line in exported) == sorted(
        line["subject"] + line["items"] for line in lines
    )
    capsys.readouterr()
    assert cli.run(["completeness", place, "--by", "day", "--json"]) == 0
    assert result(capsys)["day"]["total"]["captured"] == sum(line["captured"] for line in lines if line["items"] == "posts")


def test_nothing_is_overwritten_and_the_format_is_named(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there.csv").write_text("mine")
    assert cli.run(["completeness", place, "--out", "there.csv"]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    assert cli.run(["completeness", place, "--out", "there.xlsx"]) == 2
    assert "name it .csv or .jsonl" in capsys.readouterr().err
    assert (tmp_path / "there.csv").read_text() == "mine"
