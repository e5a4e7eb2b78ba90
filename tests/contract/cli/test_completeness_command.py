"""`bowerbird completeness` on both databases: what it prints, and what it exports."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from msgspec import structs

from bowerbird import cli
from bowerbird.cli.render import row_file
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.reports.completeness import FILE_COLUMNS, Cause, Entry, Missing
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long
from snapshots import Snapshot

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


@pytest.fixture(params=["sqlite", *long("postgresql")])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place for a store."""
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))


@pytest.fixture
def place(store: str) -> str:
    """A store after a small crawl."""

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock)
        async with laboratory.crawl(laboratory.plan(FLOW, laboratory.keys(), "stop.calls = 50", store=store)) as crawl:
            await laboratory.run(crawl)

    run_virtual(main, start=START)
    return store


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return values


def test_it_prints_and_exports_the_same_lines(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: Snapshot
) -> None:
    assert cli.run(["completeness", place]) == 0
    shown = capsys.readouterr().out
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in shown.splitlines()}
    assert {("user", "posts"), ("user", "followers"), ("day", "posts")} <= rows.keys()
    snapshot("completeness", shown)
    assert cli.run(["completeness", place, "--by", "user", "--top", "500", "--json"]) == 0
    view = result(capsys)["user"]
    totals, lines = view["totals"], view["lines"]
    assert totals.keys() == {"posts", "followers"}
    assert sum(total["entries"] for total in totals.values()) == len(lines) > 24
    for items, total in totals.items():
        assert total["captured"] == sum(line["captured"] for line in lines if line["items"] == items)
        assert total["unbounded"] == sum(line["high"] is None for line in lines if line["items"] == items)
        assert rows["user", items][:2] == [f"{total['entries']:,}", f"{total['captured']:,}"]
    # One list without an upper bound leaves the sum of the others theirs.
    assert [items for items, total in totals.items() if total["high"] is None] == ["posts"]
    assert [line for line in shown.splitlines() if "posts" in line.split() and f"{totals['posts']['low']:,}" in line.split()]
    assert totals["followers"]["causes"]["budget"] > 0
    cut = [line for line in lines if line["items"] == "followers" and line["missing"]]
    assert {part["why"] for line in cut for part in line["missing"]} >= {"the flow ends listings after page 1"}
    for name in ("out.csv", "out.jsonl"):
        assert cli.run(["completeness", place, "--by", "user", "--out", name]) == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["captured"]) for row in rows) == sum(total["captured"] for total in totals.values())
    assert sum(int(row["missing_budget"]) for row in rows) == sum(total["causes"]["budget"] for total in totals.values())
    exported = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(line["subject"] + line["items"] for line in exported) == sorted(
        line["subject"] + line["items"] for line in lines
    )
    capsys.readouterr()
    assert cli.run(["completeness", place, "--by", "day", "--json"]) == 0
    assert result(capsys)["day"]["totals"]["posts"]["captured"] == totals["posts"]["captured"]


def test_nothing_is_overwritten_and_the_format_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    assert "there.csv" in refused("completeness", place, "--out", "there.csv", code="already_exists").problem
    assert "there.xlsx" in refused("completeness", place, "--out", "there.xlsx", code="unknown_format").problem
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_count_is_not_taken_for_a_cause_of_the_same_name(tmp_path: Path) -> None:
    gone = Missing(cause=Cause.DELETED, low=2, likely=3, high=4, why="account deleted")
    with row_file(tmp_path / "lines.csv", FILE_COLUMNS) as write:
        write(Entry(subject="x:1", captured=10, deleted=7, low=2, likely=3, high=4, missing=(gone,)))
    header, values = csv.reader((tmp_path / "lines.csv").read_text().splitlines())
    assert len(set(header)) == len(header)
    row = dict(zip(header, values, strict=True))
    assert (row["deleted"], row["missing"], row["missing_deleted"]) == ("7", "3", "3")


def test_what_two_crawls_want_is_counted_once_and_each_can_be_asked_about_alone(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect="mastodon", world=WORLD), clock)
        keys = laboratory.keys()
        for name, seeds, calls in (("one", keys[:16], 30), ("two", keys[8:], 60)):
            plan = laboratory.plan(FLOW, seeds, f"stop.calls = {calls}", store=store)
            async with laboratory.crawl(structs.replace(plan, name=name)) as crawl:
                await laboratory.run(crawl)
            await clock.sleep_until(clock.now() + timedelta(hours=5))

    run_virtual(main, start=START)

    def asked(*options: str) -> dict[str, Any]:
        assert cli.run(["completeness", store, "--by", "user", "--top", "500", "--json", *options]) == 0
        view: dict[str, Any] = result(capsys)["user"]
        return view

    both, one, two = asked(), asked("--crawl", "one"), asked("--crawl", "two")
    posts = [line for line in both["lines"] if line["items"] == "posts"]
    once = {line["subject"]: line for line in posts if not line["is_repeated"]}
    shared = {line["subject"] for line in posts if line["is_repeated"]}
    assert (len(once), len(posts) - len(once), len(shared)) == (24, 8, 8)
    # The crawl that ran last speaks for both, and they agree on what is surely missing: there is one counter.
    assert {once[subject]["crawl"] for subject in shared} == {"two"}
    assert all(line["low"] == once[line["subject"]]["low"] for line in posts)
    total = both["totals"]["posts"]
    for name in ("captured", "low", "likely"):
        assert total[name] == sum(line[name] for line in once.values())
    assert total["captured"] < one["totals"]["posts"]["captured"] + two["totals"]["posts"]["captured"]
    for name, view in (("one", one), ("two", two)):
        assert {line["crawl"] for line in view["lines"]} == {name}
        assert view["totals"]["posts"]["entries"] == 16

    def days(*options: str) -> dict[str, Any]:
        assert cli.run(["completeness", store, "--by", "day", "--json", *options]) == 0
        sums: dict[str, Any] = result(capsys)["day"]["totals"]["posts"]
        return sums

    assert days()["captured"] == days("--crawl", "one")["captured"] + days("--crawl", "two")["captured"]
    assert days()["likely"] <= total["likely"]
    assert cli.run(["completeness", store, "--by", "user", "--top", "3"]) == 0
    assert "crawl" in capsys.readouterr().out
    error = refused("completeness", store, "--crawl", "three", code="unknown_crawl")
    assert ("'three'" in error.problem, "one, two" in error.advice) == (True, True)
