"""The evaluation of the revisiting policies, small: the same calls, and the published order of what they capture."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.evaluate.coverage import SCENES, Wish, evaluate_coverage
from bowerbird.evaluate.coverage.activity import measured
from bowerbird.evaluate.coverage.posting_times import read_posting_times
from bowerbird.evaluate.coverage.scenes import USUAL_ACCOUNTS, budget, drawn_world
from bowerbird.evaluate.coverage.truth import written
from bowerbird.simulated.world import World
from failures import raises_code

FIRST = datetime(2021, 1, 1, tzinfo=UTC)


def silently(_: str) -> None:
    """Nobody listens."""


ALL = ("round_robin", "echo", "index", "two_stage", "oracle")


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return evaluate_coverage(Wish(accounts=300, days=1.5, policies=ALL, jobs=1), silently)


def test_the_world_is_as_silent_and_as_uneven_as_the_published_one() -> None:
    settings = drawn_world(USUAL_ACCOUNTS, seed=1)
    world = written(World(settings), settings.start, settings.start + timedelta(days=14)).figures
    assert 0.6 < world["silent"] < 0.72
    assert 0.27 < world["wrote_twice"] < 0.34
    assert 0.35 < world["top_share"] < 0.4


@pytest.mark.long
def test_figures_stand_beside_the_published_ones_per_user_and_by_activity(figures: dict[str, Any]) -> None:
    published, ours = figures["echo_published"], figures["echo"]["as_published"]
    assert (published["posts"], published["per_user"], len(published["by_activity"])) == (0.752, 0.802, 10)
    assert 0 < ours["posts"] < 1
    assert 0 < ours["per_user"] < 1
    classes = [each["under"] for each in published["by_activity"]]
    assert [each["under"] for each in ours["by_activity"]] == sorted(
        (each["under"] for each in ours["by_activity"]), key=classes.index
    )
    weighted = sum(each["users"] * each["per_user"] for each in ours["by_activity"])
    assert weighted / sum(each["users"] for each in ours["by_activity"]) == pytest.approx(ours["per_user"], abs=0.001)


@pytest.mark.long
def test_what_was_captured_before_its_deletion_is_a_figure_of_its_own(figures: dict[str, Any]) -> None:
    there = figures["world"]
    gone = there["posts"] - there["posts_left"]
    for name in ("round_robin", "two_stage"):
        each = figures[name]
        both = each["posts"] * there["posts_left"] + each["before_deletion"] * gone
        assert both / there["posts"] == pytest.approx(each["with_deleted"], abs=0.001)
    assert figures["two_stage"]["before_deletion"] > figures["round_robin"]["before_deletion"]


def test_only_the_newest_two_hundred_posts_of_each_account_count_as_published() -> None:
    author = np.repeat([0, 1], [300, 100])
    is_found = np.concatenate([np.zeros(100, bool), np.ones(200, bool), np.zeros(50, bool), np.ones(50, bool)])
    told = measured(author, is_found, 3, days=14)
    assert (told.posts, told.per_user) == (round(250 / 300, 4), 0.75)
    assert [(each.under, each.users, each.per_user) for each in told.by_activity] == [("3 h", 1, 1.0), ("6 h", 1, 0.5)]


@pytest.mark.long
def test_every_policy_makes_the_same_number_of_calls_and_none_is_refused(figures: dict[str, Any]) -> None:
    calls = [figures[name]["calls"] for name in SCENES if name in figures]
    assert max(calls) <= 108 * 1.5 + 15
    assert min(calls) >= 0.93 * max(calls)
    assert {figures[name]["refused"] for name in SCENES if name in figures} == {0}


@pytest.mark.long
def test_each_policy_captures_more_than_the_one_before(figures: dict[str, Any]) -> None:
    posts = {name: figures[name]["posts"] for name in SCENES if name in figures}
    assert posts["echo"] > posts["round_robin"] + 0.05
    assert posts["two_stage"] > posts.get("index", posts["echo"]) + 0.1
    assert posts["two_stage"] > 0.9
    assert posts.get("index", 1) > posts["echo"]
    assert posts.get("oracle", 1) > posts["two_stage"] - 0.02


@pytest.mark.long
def test_policies_alone_capture_what_they_capture_through_the_engine(figures: dict[str, Any]) -> None:
    names = tuple(name for name in SCENES if name in figures)
    alone = evaluate_coverage(Wish(accounts=300, days=1.5, policies=names, fast=True), silently)
    assert alone["world"] == figures["world"]
    assert {name: alone[name]["calls"] for name in names} == {name: figures[name]["calls"] for name in names}
    for name in names:
        # In so small a world a point is five posts.
        assert alone[name]["posts"] == pytest.approx(figures[name]["posts"], abs=0.015), name
        assert alone[name]["per_user"] == pytest.approx(figures[name]["per_user"], abs=0.025), name


def test_one_after_the_other_nobody_misses_a_turn() -> None:
    wish = Wish(accounts=100, days=3, policies=("circular",), jobs=1)
    engine, alone = (evaluate_coverage(each, silently)["circular"] for each in (wish, structs.replace(wish, fast=True)))
    assert alone["calls"] == engine["calls"]
    assert alone["posts"] == pytest.approx(engine["posts"], abs=0.01)


@pytest.mark.long
def test_what_was_deleted_counts_only_where_it_is_said(figures: dict[str, Any]) -> None:
    for name in ("round_robin", "two_stage"):
        assert figures[name]["with_deleted"] < figures[name]["posts"]


def test_the_budget_is_in_proportion_to_the_accounts() -> None:
    for accounts, share in ((20_000, 1.0), (20_000, 0.25), (1_159, 1.0), (400, 0.25)):
        allowed = budget(accounts, share)
        in_a_minute = allowed.allowance / (allowed.window / timedelta(minutes=1))
        assert in_a_minute == pytest.approx(5 * share * accounts / 20_000, rel=0.01)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people who write by day, for two weeks."""
    chance = Random(1)
    lines = ["tweet_id\tuser_id\ttime\tis_rt"]
    for post in range(3_000):
        at = FIRST + timedelta(days=chance.randrange(14), hours=chance.randrange(8, 20), seconds=chance.randrange(3_600))
        lines.append(f"{post}\t{chance.randrange(40) ** 2}\t{at.isoformat()}\t{post % 5 // 4}")
    path = tmp_path_factory.mktemp("times") / "times.tsv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_accounts_write_at_the_recorded_times(recording: Path) -> None:
    recorded = read_posting_times(recording)
    assert (len(recorded.ms), recorded.accounts) == (3_000, 40)
    figures = evaluate_coverage(Wish(days=2, policies=("two_stage",), jobs=1, posting_times=recording), silently)
    assert figures["world"]["accounts"] == 40
    assert 300 < figures["world"]["posts"] <= 2 * 3_000 / 14 + 100
    assert figures["two_stage"]["posts"] > 0.5


def test_what_is_no_table_of_posting_times_is_refused_in_words(tmp_path: Path, recording: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("user_id,when\n1,2", "utf-8")
    with raises_code(UserError, "missing_value") as caught:
        read_posting_times(path)
    assert "'time'" in caught.value.problem
    path.write_text("user_id,time\n1,noon\n", "utf-8")
    with raises_code(UserError, "invalid") as caught:
        read_posting_times(path)
    assert caught.value.problem.startswith(f"{path}, line 2: 'noon'")
    with raises_code(UserError, "invalid") as caught:
        evaluate_coverage(Wish(days=30, posting_times=recording, policies=("echo",)), silently)
    assert "--days" in caught.value.advice
    with raises_code(UserError, "unknown_name") as caught:
        evaluate_coverage(Wish(policies=("luck",)), silently)
    assert "'luck'" in caught.value.problem
