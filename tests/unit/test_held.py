"""The part of the frontier in memory, and what a failed lease leaves of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bowerbird.frontier.held import Held
from bowerbird.model import Draw, Task, Turn

NOW = datetime(2026, 1, 5, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
TURN, ONE = Turn(1), Draw(1)


def tasks(*numbers: int) -> list[Task]:
    return [Task(task=number, lane=1, target=str(number), token=7) for number in numbers]


def holding(*numbers: int) -> Held:
    held = Held()
    held.begin()
    held.take(TURN, ONE, NOW)
    held.keep(TURN, ONE, tasks(*numbers), LATER)
    held.begin()
    return held


def test_no_more_is_claimed_ahead_than_the_crawl_file_allows() -> None:
    for most, grown in ((4, [1, 2, 4, 4]), (1, [1, 1, 1, 1])):
        held = Held(most)
        assert [held.claim_size(TURN, ONE, NOW) for _ in range(4)] == grown
        assert held.claim_size(TURN, Draw(100), NOW) >= 100


def test_what_was_held_before_a_failed_lease_is_held_again() -> None:
    held = holding(1, 2, 3)
    assert held.take(TURN, ONE, NOW) == tasks(1)
    held.undo()
    assert held.take(TURN, Draw(3), NOW) == tasks(1, 2, 3)


def test_what_a_failed_lease_claimed_is_not_ours() -> None:
    held = holding(1)
    held.take(TURN, ONE, NOW)
    held.keep(TURN, ONE, tasks(8, 9), LATER + timedelta(hours=1))
    held.undo()
    assert held.take(TURN, Draw(3), NOW) == tasks(1)
    assert held.take(TURN, ONE, LATER) == []


def test_a_lease_that_went_well_is_not_undone_later() -> None:
    held = holding(1, 2)
    assert held.take(TURN, ONE, NOW) == tasks(1)
    held.begin()
    held.undo()
    assert held.empty() == tasks(2)
