"""The frontier's promises on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.crawl.life import registry
from bowerbird.errors import Failure, Fenced
from bowerbird.frontier import TaskFrontier, statements
from bowerbird.model import Arrival, Draw, Placement, Progress, Setback, Settled, Task, Turn
from bowerbird.ports import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(minutes=2)
LANE = 7
FRESH = Progress()


def frontier_of(database: Database, worker: int = 1) -> TaskFrontier:
    return TaskFrontier(database, lambda: worker, lease=LEASE, call=timedelta(seconds=45))


async def add(database: Database, *targets: str, priority: float = 0.0, due: datetime | None = NOW, wakes: bool = False) -> None:
    arrivals = [(Arrival(lane=LANE, target=target, wakes=wakes), Placement(priority, due)) for target in targets]
    async with database.transaction() as tx:
        await frontier_of(database).add(tx, arrivals, None, NOW)


async def lease(frontier: TaskFrontier, database: Database, count: int = 1, now: datetime = NOW) -> Sequence[Task]:
    async with database.transaction() as tx:
        await frontier.sweep(tx, now)
        return await frontier.lease(tx, Turn(LANE), [Draw(count)], now)


async def settle(
    frontier: TaskFrontier,
    database: Database,
    task: Task,
    due: datetime | None,
    progress: Progress = FRESH,
    now: datetime = NOW,
) -> None:
    async with database.transaction() as tx:
        await frontier.settle(tx, [Settled(task=task, progress=progress, placement=Placement(task.priority, due))], now)


def names(tasks: Sequence[Task]) -> list[str]:
    return [task.target for task in tasks]


async def test_tasks_are_leased_by_priority_then_by_due_time(database: Database) -> None:
    await add(database, "late", due=NOW)
    await add(database, "early", due=NOW - timedelta(hours=1))
    await add(database, "urgent", priority=9.0)
    assert names(await lease(frontier_of(database), database, 3)) == ["urgent", "early", "late"]


async def test_a_leased_task_is_not_leased_again_until_its_lease_runs_out(database: Database) -> None:
    await add(database, "a")
    assert names(await lease(frontier_of(database), database)) == ["a"]
    other = frontier_of(database, worker=2)
    assert not await lease(other, database, now=NOW + LEASE - timedelta(seconds=1))
    assert names(await lease(other, database, now=NOW + LEASE)) == ["a"]


async def test_a_worker_that_wakes_up_late_is_refused(database: Database) -> None:
    await add(database, "a")
    sleeper = frontier_of(database)
    (task,) = await lease(sleeper, database)
    other = frontier_of(database, worker=2)
    (again,) = await lease(other, database, now=NOW + LEASE)
    with pytest.raises(Fenced):
        await settle(sleeper, database, task, None)
    await settle(other, database, again, None)


async def test_a_lease_settles_only_once(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await settle(frontier, database, task, NOW)
    with pytest.raises(Fenced):
        await settle(frontier, database, task, NOW)


async def test_progress_survives_between_the_leases_of_a_long_list(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await settle(frontier, database, task, NOW, Progress("page 2", None, "99"))
    (again,) = await lease(frontier_of(database), database)
    assert again.progress == Progress("page 2", None, "99")


async def test_a_visited_task_goes_to_the_end_of_a_circular_queue(database: Database) -> None:
    await add(database, "a", "b", "c")
    frontier = frontier_of(database)
    seen = []
    for step in range(1, 8):
        now = NOW + timedelta(seconds=step)
        (task,) = await lease(frontier, database, now=now)
        seen.append(task.target)
        await settle(frontier, database, task, now, now=now)
    assert seen == ["a", "b", "c", "a", "b", "c", "a"]


async def test_a_sleeping_task_comes_back_when_it_is_due(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await settle(frontier, database, task, NOW + timedelta(hours=1))
    assert not await lease(frontier, database, now=NOW + timedelta(minutes=59))
    (again,) = await lease(frontier, database, now=NOW + timedelta(hours=1))
    assert (again.visits, again.visited_at) == (1, NOW)


async def test_a_known_target_is_not_added_twice_and_sleeps_on_unless_woken(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await settle(frontier, database, task, None)
    await add(database, "a")
    assert not await lease(frontier, database)
    await add(database, "a", wakes=True)
    assert names(await lease(frontier, database)) == ["a"]


async def test_a_wake_during_the_lease_is_not_lost(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await add(database, "a", wakes=True)
    await settle(frontier, database, task, None)
    assert names(await lease(frontier, database)) == ["a"]


async def test_a_task_given_back_is_ready_at_its_time(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    tasks = await lease(frontier, database)
    async with database.transaction() as tx:
        await frontier.give_back(tx, tasks, NOW + timedelta(minutes=1))
    assert not await lease(frontier, database)
    assert names(await lease(frontier, database, now=NOW + timedelta(minutes=1))) == ["a"]


async def test_a_dead_workers_tasks_are_ready_at_once_after_recovery(database: Database) -> None:
    await add(database, "a", "b", "c")
    async with database.transaction() as tx:
        dead, fresh, living = [await registry.enrol_worker(tx, "c", NOW) for _ in range(3)]
    await lease(frontier_of(database, worker=dead), database, 2)
    await lease(frontier_of(database, worker=living), database, 1)
    frontier = frontier_of(database, worker=fresh)
    async with database.transaction() as tx:
        assert await frontier.recover(tx, NOW) == 0
        await registry.end_workers(tx, [dead], NOW - timedelta(days=30))
        assert await frontier.recover(tx, NOW) == 2
    assert names(await lease(frontier, database, 3)) == ["a", "b"]


async def test_a_task_set_back_has_one_attempt_more_and_only_its_holder_sets_it_back(database: Database) -> None:
    await add(database, "a", "b")
    frontier = frontier_of(database)
    tasks = await lease(frontier, database, 2)
    async with database.transaction() as tx:
        failure = Failure("fault", "it broke us")
        broken = Setback(tasks[1], NOW, failure)
        await frontier.set_back(tx, [Setback(tasks[0], NOW + timedelta(minutes=1)), broken])
    assert not await lease(frontier, database)
    (again,) = await lease(frontier, database, now=NOW + timedelta(minutes=1))
    assert (again.target, again.attempts) == ("a", 1)
    async with database.transaction() as tx:
        await frontier.set_back(tx, [Setback(tasks[0], NOW, Failure("fault", "late"))])
        rows = await tx.fetch("select target, state, failure from tasks order by task")
    assert [tuple(row.values()) if hasattr(row, "values") else tuple(row) for row in rows] == [
        ("a", "leased", None),
        ("b", "failed", failure.to_json()),
    ]


async def test_quick_calls_are_served_from_memory_and_an_orderly_stop_gives_the_rest_back(database: Database) -> None:
    await add(database, *(f"t{n:03}" for n in range(100)))
    frontier = frontier_of(database)
    taken = [name for _ in range(10) for name in names(await lease(frontier, database))]
    assert taken == [f"t{n:03}" for n in range(10)]
    async with database.transaction() as tx:
        held = await tx.fetch_one("select count(*) as held from tasks where state = 'leased'")
        await frontier.release(tx, NOW)
        left = await tx.fetch_one("select count(*) as held from tasks where state = 'leased'")
    assert held is not None
    assert left is not None
    assert held["held"] > 10
    assert left["held"] == 10


async def test_a_task_claimed_ahead_and_not_asked_about_keeps_its_place(database: Database) -> None:
    await add(database, *"abcdefgh")
    frontier = frontier_of(database)
    asked = [*await lease(frontier, database), *await lease(frontier, database)]
    for task in asked:
        await settle(frontier, database, task, NOW + timedelta(seconds=1))
    async with database.transaction() as tx:
        ahead = await tx.fetch("select target from tasks where state = 'leased'")
    assert names(asked) == ["a", "b"]
    assert [row["target"] for row in ahead] == ["c"]
    # No call for longer than anything is held: who was held is next, not after everybody else.
    later = NOW + LEASE + timedelta(seconds=1)
    assert [name for _ in range(3) for name in names(await lease(frontier, database, now=later))] == ["c", "d", "e"]


# -- what a stream has heard already ----------------------------------------------------------------------------------


async def fill_from(database: Database, newest: str) -> None:
    arrival = Arrival(lane=LANE, target="a", newest=newest)
    async with database.transaction() as tx:
        await frontier_of(database).add(tx, [(arrival, Placement(0.0, NOW))], None, NOW)


async def newest_of(database: Database) -> tuple[str | None, str | None]:
    async with database.reading() as tx:
        (row,) = await tx.fetch("select newest, cursor from tasks where target = 'a'")
    return row["newest"], row["cursor"]


async def test_a_target_added_with_a_newest_key_is_listed_from_there(database: Database) -> None:
    await fill_from(database, "50")
    (task,) = await lease(frontier_of(database), database)
    assert task.progress == Progress(None, "50", None)


async def test_a_task_that_sleeps_after_a_whole_listing_takes_the_newest_key_and_a_plain_wake_leaves_it(
    database: Database,
) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await settle(frontier, database, task, None, Progress(None, "20", None))
    await fill_from(database, "50")
    (task,) = await lease(frontier, database)
    assert task.progress.newest == "50"
    await settle(frontier, database, task, None, task.progress)
    await add(database, "a", wakes=True)
    (task,) = await lease(frontier, database)
    assert task.progress.newest == "50"


async def test_a_listing_under_way_keeps_its_own_newest_key(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await fill_from(database, "50")
    assert await newest_of(database) == (None, None)
    await settle(frontier, database, task, NOW + timedelta(hours=1), Progress("page 2", "20", "30"))
    await fill_from(database, "50")
    assert await newest_of(database) == ("20", "page 2")


async def test_a_task_that_failed_or_waits_for_its_retry_keeps_its_own_newest_key(database: Database) -> None:
    await fill_from(database, "20")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    retried = Settled(
        task=task, progress=task.progress, placement=Placement(0.0, NOW + timedelta(hours=1)), attempts=1, is_visit=False
    )
    async with database.transaction() as tx:
        await frontier.settle(tx, [retried], NOW)
    await fill_from(database, "50")
    assert await newest_of(database) == ("20", None)
    (task,) = await lease(frontier, database)
    failed = Settled(task=task, progress=task.progress, placement=Placement(), failure=Failure("bad_request", ""))
    async with database.transaction() as tx:
        await frontier.settle(tx, [failed], NOW)
    await fill_from(database, "50")
    assert await newest_of(database) == ("20", None)
    assert names(await lease(frontier, database)) == ["a"]


async def test_a_newest_key_moves_the_task_to_the_half_of_its_lane_that_has_positions(database: Database) -> None:
    arrival = Arrival(lane=LANE, target="a", newest="50", is_paged=True)
    async with database.transaction() as tx:
        frontier = frontier_of(database)
        await frontier.add(tx, [(arrival, Placement(0.0, NOW))], None, NOW)
        assert not await frontier.lease(tx, Turn(LANE, is_paged=False), [Draw(1)], NOW)
        assert names(await frontier.lease(tx, Turn(LANE, is_paged=True), [Draw(1)], NOW)) == ["a"]


async def test_bands_of_priority_are_drawn_apart(database: Database) -> None:
    await add(database, "high", priority=90.0)
    await add(database, "middle", priority=50.0)
    await add(database, "low", priority=5.0)
    async with database.transaction() as tx:
        drawn = await frontier_of(database).lease(tx, Turn(LANE), [Draw(5, 1, 21), Draw(5, 81, 101)], NOW)
    assert names(drawn) == ["low", "high"]


async def test_what_a_ranker_remembers_comes_back_with_the_task(database: Database) -> None:
    async with database.transaction() as tx:
        frontier = frontier_of(database)
        await frontier.add(tx, [(Arrival(lane=LANE, target="a"), Placement(1.0, NOW, b"\x00rates"))], None, NOW)
        known = await frontier.known(tx, [Arrival(lane=LANE, target="a"), Arrival(lane=LANE, target="b")])
    assert {key: task.memory for key, task in known.items()} == {(LANE, "a"): b"\x00rates"}


async def test_the_lease_and_the_sweep_use_their_indexes(database: Database) -> None:
    """Fails when the choice of the next task would read the whole frontier."""
    await _fill(database, 5000)
    lease_plan = await _plan(database, statements.choose(database.dialect, banded=False), LANE, 0, 10)
    band_plan = await _plan(database, statements.choose(database.dialect, banded=True), LANE, 0, 1.0, 2.0, 10)
    sweep_plan = await _plan(database, statements.sweep(database.dialect), 0, 10)
    due_plan = await _plan(database, statements.next_due(database.any("bigint")), database.members([LANE]))
    ready_plan = await _plan(database, statements.ready_in(database.dialect), database.members([LANE]))
    assert "tasks_ready" in ready_plan
    assert "tasks_ready" in lease_plan
    assert "tasks_ready" in band_plan
    assert "tasks_due" in sweep_plan
    assert "tasks_due" in due_plan
    for plan in (lease_plan, band_plan, due_plan):
        assert "TEMP B-TREE" not in plan
        assert "Sort" not in plan


async def test_lanes_in_which_something_is_ready_are_told(database: Database) -> None:
    async with database.transaction() as tx:
        assert await frontier_of(database).ready_in(tx, [LANE, LANE + 1]) == frozenset()
    await add(database, "a")
    async with database.transaction() as tx:
        frontier = frontier_of(database)
        assert await frontier.ready_in(tx, [LANE, LANE + 1]) == {LANE}
        assert await frontier.ready_in(tx, [LANE + 1]) == frozenset()
        await frontier.lease(tx, Turn(LANE), [Draw(1)], NOW)
        assert await frontier.ready_in(tx, [LANE]) == frozenset()


async def _fill(database: Database, count: int) -> None:
    arrivals = [
        (Arrival(lane=LANE, target=str(n), wakes=False), Placement(n % 17, NOW + timedelta(days=n % 2, seconds=n)))
        for n in range(count)
    ]
    async with database.transaction() as tx:
        await frontier_of(database).add(tx, arrivals, None, NOW + timedelta(hours=12))
        await tx.execute("analyze tasks")


async def _plan(database: Database, statement: str, *values: object) -> str:
    explain = "explain query plan" if database.dialect == "sqlite" else "explain"
    async with database.transaction() as tx:
        rows = await tx.fetch(f"{explain} {statement}", *values)
    return "\n".join(str(tuple(row.values()) if hasattr(row, "values") else tuple(row)) for row in rows)
