"""The part of the frontier in memory, and what a failed lease leaves of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from bowerbird.db.hooks import Hooks
from bowerbird.frontier.held import Held
from bowerbird.model import Draw, Task, Turn

NOW = datetime(2026, 1, 5, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
TURN, ONE = Turn(1), Draw(1)


def tasks(*numbers: int) -> list[Task]:
    return [Task(task=number, lane=1, target=str(number), token=7) for number in numbers]


def holding(*numbers: int) -> Held:
    held = Held()
    held.keep(transaction(), TURN, ONE, tasks(*numbers), LATER)
    return held


def transaction() -> Any:
    """As far as memory is concerned; its end is told by `committed` or `rolled_back`."""
    return Hooks()


def test_no_more_is_claimed_ahead_than_the_crawl_file_allows() -> None:
    for most, grown in ((4, [1, 2, 4, 4]), (1, [1, 1, 1, 1])):
        held = Held(most)
        assert [held.claim_size(TURN, ONE, NOW) for _ in range(4)] == grown
        assert held.claim_size(TURN, Draw(100), NOW) >= 100


def test_what_was_held_before_a_failed_lease_is_held_again() -> None:
    held, tx = holding(1, 2, 3), transaction()
    assert held.take(tx, TURN, ONE, NOW) == tasks(1)
    tx.rolled_back()
    assert held.take(transaction(), TURN, Draw(3), NOW) == tasks(1, 2, 3)


def test_what_a_failed_lease_claimed_is_not_ours() -> None:
    held, tx = holding(1), transaction()
    held.take(tx, TURN, ONE, NOW)
    held.keep(tx, TURN, ONE, tasks(8, 9), LATER + timedelta(hours=1))
    tx.rolled_back()
    assert held.take(transaction(), TURN, Draw(3), NOW) == tasks(1)
    held.keep(transaction(), TURN, ONE, tasks(2), LATER)
    assert held.take(transaction(), TURN, ONE, LATER) == []


def test_a_lease_that_went_well_is_not_undone_later() -> None:
    held, tx, later = holding(1, 2), transaction(), transaction()
    assert held.take(tx, TURN, ONE, NOW) == tasks(1)
    tx.committed()
    later.rolled_back()
    assert held.drop(transaction()) == tasks(2)


def test_of_two_leases_that_overlap_the_one_that_fails_takes_back_its_own() -> None:
    held, tx, other = holding(1, 2, 3), transaction(), transaction()
    assert held.take(tx, TURN, ONE, NOW) == tasks(1)
    assert held.take(other, TURN, ONE, NOW) == tasks(2)
    tx.rolled_back()
    other.committed()
    assert held.take(transaction(), TURN, Draw(3), NOW) == tasks(1, 3)


def test_what_a_failed_transaction_gave_back_is_still_held() -> None:
    held, tx = holding(1, 2), transaction()
    assert held.drop(tx, TURN.lane) == tasks(1, 2)
    tx.rolled_back()
    assert held.take(transaction(), TURN, Draw(3), NOW) == tasks(1, 2)


def test_what_was_held_too_long_is_told_once_unless_the_transaction_fails() -> None:
    held, tx = holding(1, 2), transaction()
    assert held.lapsed(transaction(), NOW) == []
    assert held.take(transaction(), TURN, ONE, LATER) == []
    held.keep(transaction(), TURN, ONE, tasks(3), LATER + timedelta(minutes=1))
    assert held.lapsed(tx, LATER) == tasks(1, 2)
    tx.rolled_back()
    assert held.lapsed(transaction(), LATER) == tasks(1, 2)
    assert held.lapsed(transaction(), LATER) == []
    assert held.take(transaction(), TURN, ONE, LATER) == tasks(3)
