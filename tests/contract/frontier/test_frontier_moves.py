"""What policies ask of the frontier beyond order: parts of a choice, and moving those who wait already."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Draw, Placement, Progress, Settled, Turn
from bowerbird.ports import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LANE = 7


def frontier_of(database: Database) -> TaskFrontier:
    return TaskFrontier(database, lambda: 1, lease=timedelta(minutes=2), call=timedelta(seconds=45))


async def add(database: Database, target: str, placement: Placement, *, wakes: bool = True) -> None:
    async with database.transaction() as tx:
        await frontier_of(database).add(tx, [(Arrival(lane=LANE, target=target, wakes=wakes), placement)], None, NOW)


async def lease(database: Database, frontier: TaskFrontier, *draws: Draw) -> list[str]:
    async with database.transaction() as tx:
        return [task.target for task in await frontier.lease(tx, Turn(LANE), draws, NOW)]


async def test_what_one_part_of_a_choice_leaves_empty_the_next_may_fill(database: Database) -> None:
    for number in range(8):
        await add(database, f"t{number}", Placement(float(number), NOW))
    drawn = await lease(database, frontier_of(database), Draw(3, low=6.0), Draw(4, 2.0, 4.0), Draw(5))
    assert drawn == ["t7", "t6", "t3", "t2", "t5"]


async def test_a_choice_never_grows_beyond_its_last_part(database: Database) -> None:
    for number in range(8):
        await add(database, f"t{number}", Placement(float(number), NOW))
    assert len(await lease(database, frontier_of(database), Draw(3), Draw(3), Draw(4))) == 4


async def test_a_waiting_task_is_moved_only_by_a_standing_that_moves(database: Database) -> None:
    for target in ("a", "b"):
        await add(database, target, Placement(0.0, NOW))
    await add(database, "b", Placement(9.0, NOW, b"ignored"))
    assert await lease(database, frontier_of(database), Draw(1)) == ["a"]
    await add(database, "c", Placement(5.0, NOW))
    await add(database, "b", Placement(9.0, NOW, b"kept", moves=True), wakes=False)
    async with database.transaction() as tx:
        (task,) = await frontier_of(database).lease(tx, Turn(LANE), [Draw(1)], NOW)
    assert (task.target, task.priority, task.memory) == ("b", 9.0, b"kept")


async def test_a_sleeping_task_is_moved_only_by_an_arrival_that_wakes(database: Database) -> None:
    await add(database, "a", Placement(0.0, None))
    await add(database, "a", Placement(1.0, NOW, moves=True), wakes=False)
    assert await lease(database, frontier_of(database), Draw(1)) == []
    await add(database, "a", Placement(1.0, NOW, moves=True))
    assert await lease(database, frontier_of(database), Draw(1)) == ["a"]


async def test_what_is_written_into_a_leased_task_can_be_read_before_it_is_settled(database: Database) -> None:
    frontier = frontier_of(database)
    await add(database, "a", Placement(0.0, NOW, b"before"))
    async with database.transaction() as tx:
        (task,) = await frontier.lease(tx, Turn(LANE), [Draw(1)], NOW)
    await add(database, "a", Placement(3.0, NOW, b"meanwhile", moves=True))
    async with database.transaction() as tx:
        known = await frontier.known(tx, [Arrival(lane=LANE, target="a")])
        assert known[LANE, "a"].memory == b"meanwhile"
        ended = Settled(task=task, progress=Progress(), placement=Placement(0.0, None, b"after"))
        assert await frontier.settle(tx, [ended], NOW) == {LANE}


async def test_a_task_that_was_woken_meanwhile_sleeps_where_its_ranker_has_seen_who_came(database: Database) -> None:
    frontier = frontier_of(database)
    await add(database, "a", Placement(0.0, NOW, b"before"))
    async with database.transaction() as tx:
        (task,) = await frontier.lease(tx, Turn(LANE), [Draw(1)], NOW)
    await add(database, "a", Placement(3.0, NOW, b"meanwhile", moves=True))
    async with database.transaction() as tx:
        ended = Settled(task=task, progress=Progress(), placement=Placement(0.0, None, b"seen", moves=True))
        assert await frontier.settle(tx, [ended], NOW) == frozenset()
    assert await lease(database, frontier, Draw(1)) == []
    await add(database, "a", Placement(1.0, NOW, moves=True))
    assert await lease(database, frontier, Draw(1)) == ["a"]


async def test_a_task_that_is_reached_by_a_shorter_way_is_asked_again_and_only_then(database: Database) -> None:
    async def arrive(depth: int, *, nears: bool) -> None:
        arrival = Arrival(lane=LANE, target="a", depth=depth, wakes=False, nears=nears)
        async with database.transaction() as tx:
            await frontier_of(database).add(tx, [(arrival, Placement(0.0, NOW))], None, NOW)

    async def leased() -> list[int]:
        frontier = frontier_of(database)
        async with database.transaction() as tx:
            tasks = await frontier.lease(tx, Turn(LANE), [Draw(1)], NOW)
            await frontier.settle(
                tx, [Settled(task=task, progress=Progress(), placement=Placement(0.0, None)) for task in tasks], NOW
            )
            return [task.depth for task in tasks]

    await arrive(2, nears=True)
    assert await leased() == [2]
    await arrive(2, nears=True)
    await arrive(1, nears=False)
    assert await leased() == []
    await arrive(1, nears=True)
    assert await leased() == [1]
    assert await leased() == []
