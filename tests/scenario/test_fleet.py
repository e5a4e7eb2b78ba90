"""A fleet of real processes on PostgreSQL, disturbed in every way, against one process that nobody disturbs."""

from __future__ import annotations

from typing import Any

import pytest

from bowerbird.evaluate.fleet import Manner, evaluate_fleet

MUST_BE_NONE = ("lost", "doubled", "extra", "differing", "loose", "over_limit", "refused", "unlogged", "failed", "wedged")


def _disturbed(workers: int, kills: int, accounts: int) -> dict[str, Any]:
    figures = evaluate_fleet(Manner(workers=workers, kills=kills, seed=3, accounts=accounts, measures_pace=False))
    assert {name: figures[name] for name in MUST_BE_NONE} == dict.fromkeys(MUST_BE_NONE, 0), figures.get("examples")
    assert figures["calls"] > 0
    return figures


@pytest.mark.timeout(300)
def test_a_small_fleet_loses_doubles_and_overdraws_nothing_while_its_processes_are_killed() -> None:
    figures = _disturbed(workers=2, kills=1, accounts=24)
    assert figures["workers"] == 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_fleet_survives_kills_stops_pauses_wrong_clocks_and_a_crash_of_its_database() -> None:
    figures = _disturbed(workers=6, kills=12, accounts=110)
    assert figures["restarts_of_the_database"] == 1
    assert figures["stops"]
    assert figures["pauses"]
