"""Targets taken out of a lane for good, whatever they were at, on both databases; the reason stays, as does what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bowerbird.crawl.life import registry
from bowerbird.errors import Failure
from bowerbird.frontier import TaskFrontier, statements
from bowerbird.model import Arrival, Draw, Placement, Progress, Reason, Setback, Settled, Task, Turn
from bowerbird.ports import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
LEASE = timedelta(minutes=2)
LANE, OTHER = 7, 8
REASON = Reason("adaptation", "brings noise")
RETIRED = Failure("retired", "brings noise").to_json()


def frontier_of(database: Database, worker: int = 1) -> TaskFrontier:
    return TaskFrontier(database, lambda: worker, lease=LEASE, call=45 * SECOND)


async def add(
    database: Database, *targets: str, due: datetime | None = NOW, wakes: bool = False, call: int | None = None, lane: int = LANE
) -> None:
    arrivals = [(Arrival(lane=lane, target=target, wakes=wakes), Placement(0.0, due)) for target in targets]
    async with database.transaction() as tx:
        await frontier_of(database).add(tx, arrivals, call, NOW)


async def retire(database: Database, *targets: str, frontier: TaskFrontier | None = None) -> list[str]:
    async with database.transaction() as tx:
        return list(await (frontier or frontier_of(database)).retire(tx, LANE, targets, REASON, NOW))


async def lease(frontier: TaskFrontier, database: Database, count: int = 9, now: datetime = NOW) -> Sequence[Task]:
    async with database.transaction() as tx:
        await frontier.sweep(tx, now)
        return await frontier.lease(tx, Turn(LANE), [Draw(count)], now)


async def asked(database: Database, now: datetime = NOW + 99 * DAY) -> list[str]:
    """What anybody is ever asked about from now on."""
    return [task.target for task in await lease(frontier_of(database, 2), database, now=now)]


async def row(database: Database, target: str) -> dict[str, Any]:
    async with database.reading() as tx:
        found = await tx.fetch_one("select * from tasks where lane = ? and target = ?", LANE, target)
    assert found is not None
    return dict(found)


async def changes(database: Database) -> list[tuple[Any, ...]]:
    async with database.reading() as tx:
        rows = await tx.fetch("select at, worker, who, why, kind, lane, target from changes order by change")
    return [tuple(dict(each).values()) for each in rows]


async def settle(frontier: TaskFrontier, database: Database, task: Task, **how: Any) -> None:
    placement = Placement(0.0, how.pop("due", NOW + DAY))
    async with database.transaction() as tx:
        await frontier.settle(tx, [Settled(task=task, progress=Progress(None, "9", None), placement=placement, **how)], NOW)


@pytest.mark.parametrize("due", [NOW, NOW + DAY, None])
async def test_what_waits_or_sleeps_is_asked_no_more_and_the_reason_is_kept(database: Database, due: datetime | None) -> None:
    await add(database, "a", "b", due=due)
    assert await retire(database, "a", "unknown") == ["a"]
    assert await asked(database) == ([] if due is None else ["b"])
    kept = await row(database, "a")
    assert (kept["state"], kept["ready"], kept["due"], kept["failure"]) == ("retired", 0, None, RETIRED)
    at = round(NOW.timestamp() * 1_000_000)
    assert await changes(database) == [(at, 1, "adaptation", "brings noise", "retired", LANE, "a")]


async def test_the_same_target_of_another_lane_stays(database: Database) -> None:
    await add(database, "a")
    await add(database, "a", lane=OTHER)
    await retire(database, "a")
    async with database.transaction() as tx:
        assert len(await frontier_of(database).lease(tx, Turn(OTHER), [Draw(9)], NOW)) == 1


async def test_to_retire_twice_is_to_retire_once(database: Database) -> None:
    await add(database, "a")
    assert await retire(database, "a") == ["a"]
    assert await retire(database, "a") == []
    assert len(await changes(database)) == 1


async def test_the_answer_of_a_call_under_way_is_kept_and_its_target_then_retired(database: Database) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    assert await retire(database, "a", frontier=frontier_of(database, 2)) == ["a"]
    assert (await row(database, "a"))["state"] == "retiring"
    await settle(frontier, database, task)
    after = await row(database, "a")
    assert (after["state"], after["due"], after["newest"], after["visits"]) == ("retired", None, "9", 1)
    assert after["failure"] == RETIRED
    assert await asked(database) == []


@pytest.mark.parametrize("how", ["failed", "continues", "given back", "set back", "expired", "dead", "stopped"])
async def test_however_the_call_under_way_ends_its_target_is_retired(database: Database, how: str) -> None:
    async with database.transaction() as tx:
        for _ in range(2):
            await registry.enrol_worker(tx, "c", NOW)
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await retire(database, "a", frontier=frontier_of(database, 2))
    if how == "failed":
        await settle(frontier, database, task, failure=Failure("not_offered", ""), is_visit=False)
    elif how == "continues":
        await settle(frontier, database, task, due=NOW, is_visit=False)
    async with database.transaction() as tx:
        if how == "given back":
            await frontier.give_back(tx, [task], NOW)
        elif how == "set back":
            await frontier.set_back(tx, [Setback(task, NOW)])
        elif how == "dead":
            await registry.end_workers(tx, [1], NOW)
            await frontier_of(database, 2).recover(tx, NOW)
        elif how == "stopped":
            await frontier.release(tx, NOW)
    assert await asked(database) == []
    after = await row(database, "a")
    assert (after["state"], after["token"], after["failure"]) == ("retired", None, RETIRED)


async def test_what_we_hold_in_memory_is_not_asked_and_comes_back_if_nothing_happened(database: Database) -> None:
    await add(database, "a", "b", "c")
    frontier = frontier_of(database)
    async with database.transaction() as tx:
        # Two claims close together: the second takes a block, of which the rest is held.
        for _ in range(2):
            await frontier.lease(tx, Turn(LANE), [Draw(1)], NOW)

    async def fail() -> None:
        async with database.transaction() as tx:
            await frontier.retire(tx, LANE, ["c"], REASON, NOW)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        await fail()
    assert (await row(database, "c"))["state"] == "leased"
    await retire(database, "c", frontier=frontier)
    assert (await row(database, "c"))["state"] == "retired"
    assert await lease(frontier, database) == []


async def test_a_new_start_revives_what_was_given_up_and_not_what_was_retired(database: Database) -> None:
    await add(database, "a")
    await retire(database, "a")
    async with database.transaction() as tx:
        assert await frontier_of(database).revive(tx, [LANE], NOW) == 0
    await add(database, "a", call=None)
    assert await asked(database) == [], "seeds that are named at every start are not added anew"


@pytest.mark.parametrize("wakes", [False, True])
async def test_an_edge_that_leads_to_it_anew_adds_it_with_what_was_learned_of_it(database: Database, wakes: bool) -> None:
    await add(database, "a", "asleep", due=None)
    frontier = frontier_of(database)
    await add(database, "a", wakes=True)
    (task,) = await lease(frontier, database)
    await settle(frontier, database, task)
    await retire(database, "a")
    await add(database, "a", "asleep", "new", wakes=wakes, call=5)
    assert sorted(await asked(database, NOW)) == sorted(["a", "new", *(["asleep"] if wakes else [])])
    after = await row(database, "a")
    assert (after["newest"], after["visits"], after["failure"]) == ("9", 1, None)


@pytest.mark.parametrize("wakes", [False, True])
async def test_who_is_added_anew_while_its_last_call_is_under_way_is_not_retired(database: Database, wakes: bool) -> None:
    await add(database, "a")
    frontier = frontier_of(database)
    (task,) = await lease(frontier, database)
    await retire(database, "a", frontier=frontier_of(database, 2))
    await add(database, "a", wakes=wakes, call=5)
    await settle(frontier, database, task, due=None)
    assert await asked(database) == ["a"]


async def test_the_user_adds_it_anew_by_an_arrival_that_wakes(database: Database) -> None:
    await add(database, "a")
    await retire(database, "a")
    await add(database, "a", wakes=True)
    assert await asked(database) == ["a"]


async def test_lanes_without_retired_targets_are_told_by_an_index(database: Database) -> None:
    explain = "explain query plan" if database.dialect == "sqlite" else "explain"
    async with database.transaction() as tx:
        if database.dialect == "postgresql":
            await tx.execute("analyze tasks")
            await tx.execute("set local enable_seqscan = off")
        rows = await tx.fetch(f"{explain} {statements.has_retired(database.any('bigint'))}", database.members([LANE]))
    assert "tasks_retired" in " ".join(str(tuple(dict(each).values())) for each in rows)
