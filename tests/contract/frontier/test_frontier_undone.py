"""A lease whose transaction fails: what was held before does not wait for its expiry, and nothing is leased twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.errors import Busy, Failure
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Draw, Placement, Turn
from bowerbird.ports import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LANE = 7
TARGETS = [f"t{n:02d}" for n in range(40)]


async def lease(frontier: TaskFrontier, database: Database, times: int = 1, *, fails: bool = False) -> list[str]:
    """So many leases of one task each in one transaction, which may fail at its end."""
    targets: list[str] = []
    try:
        async with database.transaction() as tx:
            for _ in range(times):
                targets += [task.target for task in await frontier.lease(tx, Turn(LANE), [Draw(1)], NOW)]
            if fails:
                raise Busy("somebody else took the calls that were left")
    except Busy:
        return []
    return targets


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("times", [1, 3, 9])
async def test_after_a_failed_lease_every_task_is_leased_once_and_in_order(database: Database, before: int, times: int) -> None:
    frontier = TaskFrontier(database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(seconds=90))
    async with database.transaction() as tx:
        await frontier.add(tx, [(Arrival(lane=LANE, target=each), Placement(0.0, NOW)) for each in TARGETS], None, NOW)
    # Leases that follow each other closely claim ever larger blocks, which are held in memory.
    leased = [each for _ in range(before) for each in await lease(frontier, database)]
    assert await lease(frontier, database, times, fails=True) == []
    while more := await lease(frontier, database, 2):
        leased += more
    assert leased == TARGETS


async def test_what_a_failed_stop_gave_back_is_still_held(database: Database) -> None:
    frontier = TaskFrontier(database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(seconds=90))
    async with database.transaction() as tx:
        await frontier.add(tx, [(Arrival(lane=LANE, target=each), Placement(0.0, NOW)) for each in TARGETS], None, NOW)
    leased = [each for _ in range(4) for each in await lease(frontier, database)]

    async def give_back(failure: type[Exception] | None) -> None:
        async with database.transaction() as tx:
            await frontier.release(tx, NOW)
            await frontier.close(tx, LANE + 1, Failure("not_offered", "nobody answers"))
            if failure is not None:
                raise failure("again")

    with pytest.raises(Busy):
        await give_back(Busy)
    while more := await lease(frontier, database, 2):
        leased += more
    assert leased == TARGETS
