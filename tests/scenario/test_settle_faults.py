"""Whatever is raised while a call is settled: that call is lost, and nothing else."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from still_world import SHORT, TWITTER

from bowerbird.evaluate.crash.faults import FAILING, Breaking, FaultRounds
from bowerbird.evaluate.crash.tally import Tally


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("stride", "rounds", "least"), [(24, 1, 20), pytest.param(1, 9, 1_000, marks=pytest.mark.long)])
def test_an_exception_at_any_line_of_a_settle_loses_that_call_alone(stride: int, rounds: int, least: int) -> None:
    tally = Tally()
    FaultRounds(TWITTER).run(Breaking(stride=stride), rounds, tally)
    assert tally.is_clean, tally.figures()
    assert tally.faults > least


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("stride", "rounds", "least"), [(8, 1, 10), pytest.param(1, 8, 100, marks=pytest.mark.long)])
def test_an_exception_while_such_a_call_is_put_aside_costs_no_more(tmp_path: Path, stride: int, rounds: int, least: int) -> None:
    tally, numbers = Tally(), count()
    crawls = FaultRounds(SHORT, lambda: str(tmp_path / f"{next(numbers)}.db"))
    crawls.run(Breaking(under=FAILING, spoils=True, stride=stride), rounds, tally)
    assert tally.is_clean, tally.figures()
    assert tally.faults > least


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_same_on_postgresql(migrated_url: str) -> None:
    tally = Tally()
    FaultRounds(SHORT, lambda: migrated_url).run(Breaking(stride=40), 1, tally)
    assert tally.is_clean, tally.figures()
    assert tally.faults > 10
