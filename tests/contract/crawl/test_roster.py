"""Who counts as dead, on both databases."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers import identity
from bowerbird.crawl.process.workers.enrolment import enrol
from bowerbird.errors import UserError
from bowerbird.ports import Database
from failures import raises_code

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def enrolled(database: Database, **columns: object) -> int:
    async with database.transaction() as tx:
        worker = await registry.enrol_worker(tx, "w", NOW)
        for column, value in columns.items():
            await tx.execute(f"update workers set {column} = ? where worker = ?", value, worker)
    return worker


async def dead(database: Database, me: int, now: datetime = NOW) -> list[int]:
    async with database.transaction() as tx:
        return await registry.dead_workers(tx, me, now)


def gone_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


async def test_a_process_of_this_machine_that_is_gone_is_dead_at_once(database: Database) -> None:
    me = await enrolled(database)
    killed = await enrolled(database, pid=gone_pid())
    assert await dead(database, me) == [killed]


async def test_a_living_process_is_dead_only_when_it_was_silent_for_long(database: Database) -> None:
    me = await enrolled(database)
    other = await enrolled(database, pid=os.getppid(), process_started=None)
    elsewhere = await enrolled(database, host="another-machine")
    assert await dead(database, me) == []
    assert await dead(database, me, NOW + registry.SILENT + timedelta(seconds=1)) == [other, elsewhere]


async def test_two_containers_with_one_host_name_do_not_take_each_other_for_dead(database: Database) -> None:
    """Both are process 1 of `crawler`, or process 1 here and a number there that nobody has here."""
    me = await enrolled(database)
    twin = await enrolled(database, identity="another", place="another boot pid:[2]")
    other = await enrolled(database, identity="a third", place="another boot pid:[3]", pid=gone_pid())
    assert await dead(database, me) == []
    assert await dead(database, me, NOW + registry.QUIET + timedelta(seconds=1)) == [twin, other]


async def test_a_process_that_got_the_number_of_a_dead_one_is_not_taken_for_it(database: Database) -> None:
    me = await enrolled(database)
    killed = await enrolled(database, identity="before", pid=os.getppid(), process_started=1)
    before = await enrolled(database, identity="before", process_started=1)
    assert await dead(database, me) == [killed, before]


async def test_under_an_earlier_number_a_process_is_dead(database: Database) -> None:
    before, me = await enrolled(database), await enrolled(database)
    assert await dead(database, me) == [before]


async def test_who_may_be_our_own_earlier_life_is_refused_with_the_time_after_which_it_is_known(database: Database) -> None:
    await enrolled(database, identity="another", place="another boot pid:[2]")
    now = NOW + timedelta(seconds=12)

    async def start(at: datetime) -> None:
        async with database.transaction() as tx:
            await enrol(tx, "w", at, is_alone=True)

    with raises_code(UserError, "already_running") as caught:
        await start(now)
    assert "18 s" in caught.value.problem
    await start(now + timedelta(seconds=19))


def test_a_process_knows_itself_and_a_forked_one_is_another() -> None:
    assert identity.myself() == identity.myself()
    assert identity.runs(os.getpid(), identity.myself().started)
    look = (
        "from bowerbird.crawl.process.workers.identity import myself; me = myself(); "
        "print(me.identity, me.place, me.started, sep='|')"
    )
    ends = [subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True) for _ in range(2)]
    (one, here, began), (two, there, _) = (end.stdout.strip().split("|") for end in ends)
    assert here == there == identity.myself().place
    assert len({one, two, identity.myself().identity}) == 3
    assert began.isdigit()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the state of a process")
def test_who_was_killed_does_not_run_although_nobody_asked_how_it_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert identity.runs(child.pid, None)
    child.kill()
    # Waits for its end and leaves it as it is.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not identity.runs(child.pid, None)
    child.wait()
    child.stdout.close()


async def test_the_time_a_crawl_was_run_counts_once_and_without_the_gaps(database: Database) -> None:
    def at(minutes: int) -> int:
        return int((NOW + timedelta(minutes=minutes)).timestamp() * 1_000_000)

    for began, seen in ((0, 10), (5, 12), (6, 8), (60, 61)):
        await enrolled(database, started_at=at(began), seen_at=at(seen), ended_at=at(seen + 30))
    me = await enrolled(database, started_at=at(61), seen_at=at(90))
    await enrolled(database, name="another", started_at=at(0), seen_at=at(500))
    async with database.transaction() as tx:
        assert await registry.time_run(tx, "w", me) == timedelta(minutes=13)
        assert await registry.time_run(tx, "w") == timedelta(minutes=42)
        assert await registry.time_run(tx, "nobody") == timedelta(0)


async def test_a_worker_that_was_taken_for_dead_gives_no_sign_of_life_any_more(database: Database) -> None:
    me = await enrolled(database)
    killed = await enrolled(database, pid=gone_pid())
    async with database.transaction() as tx:
        await registry.end_workers(tx, [killed], NOW)
        assert await registry.heartbeat(tx, me, NOW)
        assert not await registry.heartbeat(tx, killed, NOW)
    assert await dead(database, me, NOW + timedelta(seconds=5)) == []
    async with database.transaction() as tx:
        await registry.end_workers(tx, [killed], NOW + timedelta(hours=1))
        (row,) = await tx.fetch("select ended_at from workers where worker = ?", killed)
    assert row["ended_at"] < (NOW + timedelta(minutes=1)).timestamp() * 1_000_000


async def test_of_two_starts_at_once_the_second_is_refused_unless_it_joins(database: Database) -> None:
    async def start(*, is_alone: bool) -> int:
        async with database.transaction() as tx:
            await registry.enrol_crawl(tx, "w", "{}", "{}", NOW)
            me = await enrol(tx, "w", NOW, is_alone=is_alone)
            # As if it were a process of its own.
            await tx.execute(
                "update workers set pid = ?, process_started = null where worker = ?", os.getppid(), me.number()
            )  # fmt: skip
            return me.number()

    outcomes = await asyncio.gather(start(is_alone=True), start(is_alone=True), return_exceptions=True)
    (refused,) = [each for each in outcomes if isinstance(each, UserError)]
    assert refused.code == "already_running"
    assert "--join" in refused.advice
    assert await start(is_alone=False)
    async with database.reading() as tx:
        (row,) = await tx.fetch("select count(*) as workers from workers")
    assert row["workers"] == 2
