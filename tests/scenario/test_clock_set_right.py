"""A crawl that ran while the clock was two days ahead goes on as if it had run by the right one."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bowerbird.app import open_store
from bowerbird.clock import VirtualClock, from_micros, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from marks import long_on_postgresql

NOW = datetime(2026, 3, 1, tzinfo=UTC)
AHEAD = timedelta(days=2)
HOUR = timedelta(hours=1)
TINY = WorldSettings(accounts=10, seed=5, following=3.0, longest_history=20)
FLOW = 'flow.seeds = ["profiles"]\nflow.facets.profiles.revisit = "9h"'


def run(store: str, start: datetime, until: timedelta) -> dict[str, Any]:
    """Runs the crawl from a time on until its time in all is over; answers what stands in its store then."""

    async def main(clock: VirtualClock) -> dict[str, Any]:
        laboratory = Laboratory(Setup(world=TINY), clock)
        plan = laboratory.plan(FLOW, laboratory.keys(), store=store)
        plan = structs.replace(plan, flow=structs.replace(plan.flow, stop=structs.replace(plan.flow.stop, duration=until)))
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
        async with open_store(store, clock) as database, database.reading() as tx:
            (tasks,) = await tx.fetch("select min(due) as first, max(due) as last, max(visits) as visits from tasks")
            (errors,) = await tx.fetch("select count(*) as clock from errors where part = 'clock'")
        times = {name: from_micros(tasks[name]) for name in ("first", "last")}
        return times | {"visits": tasks["visits"], "noted": errors["clock"]}

    return run_virtual(main, start=start)


@pytest.fixture
def store(database_url: str, tmp_path: Path) -> str:
    return str(tmp_path / "crawl.db") if database_url == ":memory:" else database_url


@long_on_postgresql
def test_revisits_come_when_they_would_have_come(store: str) -> None:
    found = run(store, NOW + AHEAD, HOUR)
    assert found["first"] > NOW + AHEAD
    found = run(store, NOW + HOUR, 2 * HOUR)
    assert found["noted"] == 1
    assert NOW + 9 * HOUR <= found["first"] <= found["last"] <= NOW + 10 * HOUR
    found = run(store, NOW + 2 * HOUR, 12 * HOUR)
    assert found["noted"] == 1
    assert found["visits"] == 2


def leave_behind(store: str, host: str, pid: int) -> None:
    """Makes the last worker one that never said that it ended."""

    async def main(clock: VirtualClock) -> None:
        async with open_store(store, clock) as database, database.transaction() as tx:
            await tx.execute("update workers set ended_at = null, host = ?, pid = ?, process_started = null", host, pid)

    run_virtual(main, start=NOW)


@pytest.mark.parametrize("host", [socket.gethostname(), "elsewhere.example"])
def test_a_worker_that_was_killed_does_not_keep_it_from_being_set_right(store: str, host: str) -> None:
    run(store, NOW + AHEAD, HOUR)
    leave_behind(store, host, os.getpid())
    found = run(store, NOW + HOUR, 2 * HOUR)
    assert found["noted"] == 1
    assert NOW + 9 * HOUR <= found["first"] <= found["last"] <= NOW + 10 * HOUR


def test_beside_a_worker_that_lives_nothing_is_pulled_back(store: str) -> None:
    run(store, NOW + AHEAD, HOUR)
    leave_behind(store, socket.gethostname(), os.getppid())
    found = run(store, NOW + HOUR, 2 * HOUR)
    assert found["noted"] == 0
    assert found["first"] > NOW + AHEAD


def test_a_store_that_was_written_before_now_is_left_alone(store: str) -> None:
    first = run(store, NOW, HOUR)
    assert run(store, NOW + 3 * HOUR, 2 * HOUR) == first | {"noted": 0}
