"""One kind of claim on both databases: one worker at a time, handed on when it is over or its worker dead; late ones refused."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bowerbird.clock import RealClock, from_micros
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims, clear_claims
from bowerbird.db import open_database
from bowerbird.db.postgres.database import PostgresDatabase
from bowerbird.errors import Fenced
from bowerbird.model import Claim
from bowerbird.ports import Database
from failures import raises_code

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOLD = 2 * MINUTE
NAME = "module census"


@pytest.fixture
async def store(database: Database) -> Database:
    """Three workers live."""
    async with database.transaction() as tx:
        for _ in range(3):
            await registry.enrol_worker(tx, "c", NOW)
    return database


def of(worker: int) -> WorkerClaims:
    return WorkerClaims(lambda: worker)


async def take(store: Database, worker: int = 1, now: datetime = NOW, name: str = NAME) -> Claim | datetime:
    async with store.transaction() as tx:
        return await of(worker).take(tx, name, now + HOLD, now)


async def taken(store: Database, worker: int = 1, now: datetime = NOW) -> Claim:
    claim = await take(store, worker, now)
    assert isinstance(claim, Claim)
    return claim


async def renew(store: Database, claim: Claim, until: datetime = NOW + 2 * HOLD) -> Claim:
    async with store.transaction() as tx:
        return await of(claim.worker).renew(tx, claim, until)


async def release(store: Database, claim: Claim) -> bool:
    async with store.transaction() as tx:
        return await of(claim.worker).release(tx, claim)


async def end(store: Database, *workers: int) -> None:
    async with store.transaction() as tx:
        await registry.end_workers(tx, workers, NOW)


async def rows(store: Database) -> list[tuple[str, int, datetime]]:
    async with store.reading() as tx:
        found = await tx.fetch("select name, worker, until from claims order by name")
    return [(row["name"], row["worker"], from_micros(row["until"])) for row in found]


async def test_a_claim_is_one_workers_until_its_time_is_over(store: Database) -> None:
    first = await taken(store)
    assert await rows(store) == [(NAME, 1, NOW + HOLD)]
    assert await take(store, 2, NOW + MINUTE) == NOW + HOLD
    second = await taken(store, 2, NOW + HOLD)
    assert (second.worker, second.until) == (2, NOW + 2 * HOLD)
    with raises_code(Fenced, "lease_lost") as caught:
        await renew(store, first)
    assert NAME in caught.value.problem


async def test_claims_of_other_names_are_no_hindrance(store: Database) -> None:
    await taken(store)
    assert isinstance(await take(store, 2, name="module other"), Claim)


async def test_a_renewed_claim_stays_with_its_worker(store: Database) -> None:
    renewed = await renew(store, await taken(store))
    assert await take(store, 2, NOW + HOLD) == renewed.until == NOW + 2 * HOLD


async def test_a_claim_that_is_over_and_that_nobody_took_is_renewed(store: Database) -> None:
    claim = await taken(store)
    assert (await renew(store, claim, NOW + 9 * HOLD)).until == NOW + 9 * HOLD


async def test_the_claim_of_a_dead_worker_is_free_at_once_and_the_dead_take_nothing(store: Database) -> None:
    late = await taken(store)
    await end(store, 1)
    assert (await taken(store, 2)).worker == 2
    assert await take(store, 1, NOW + HOLD) == NOW + HOLD
    assert not await release(store, late)
    assert isinstance(await take(store, 1, name="module nobody has"), datetime)


async def test_a_released_claim_is_free_at_once_and_leaves_no_row(store: Database) -> None:
    claim = await taken(store)
    assert await release(store, claim)
    assert await rows(store) == []
    assert not await release(store, claim)
    assert (await taken(store, 2)).worker == 2


async def test_a_worker_that_begins_again_takes_its_own_claim_and_its_earlier_self_is_refused(store: Database) -> None:
    first = await taken(store)
    second = await taken(store)
    with pytest.raises(Fenced):
        await renew(store, first)
    assert not await release(store, first)
    assert (await renew(store, second)).token == second.token


async def test_a_late_writer_is_refused_after_its_claim_went_round_and_came_back(store: Database) -> None:
    late = await taken(store)
    other = await taken(store, 2, NOW + HOLD)
    assert await release(store, other)
    await taken(store, 1, NOW + HOLD)
    with pytest.raises(Fenced):
        await renew(store, late)


async def test_of_many_who_ask_at_the_same_moment_one_gets_it(store: Database) -> None:
    answers = await asyncio.gather(*(take(store, worker) for worker in (1, 2, 3)))
    assert sorted(isinstance(answer, Claim) for answer in answers) == [False, False, True]


async def test_the_names_that_are_held_are_told_by_their_beginning(store: Database) -> None:
    for worker, name in ((1, "media 1"), (2, "media 2"), (3, "stream 1")):
        await take(store, worker, name=name)
    await end(store, 2)
    async with store.reading() as tx:
        assert await of(3).held(tx, "media ", NOW) == {"media 1"}
        assert await of(3).held(tx, "media ", NOW + HOLD) == frozenset()


async def test_what_dead_workers_had_is_cleared_away(store: Database) -> None:
    await take(store, 1)
    await take(store, 2, name="module other")
    await end(store, 1)
    async with store.transaction() as tx:
        await clear_claims(tx)
    assert await rows(store) == [("module other", 2, NOW + HOLD)]


async def test_who_writes_under_a_claim_keeps_others_from_taking_it_until_the_end(migrated_url: str) -> None:
    """On PostgreSQL two transactions run at the same time: the one that would take the claim waits for the one that renews it."""
    one, other = [await PostgresDatabase.open(migrated_url, RealClock()) for _ in range(2)]
    async with one.transaction() as tx:
        for _ in range(2):
            await registry.enrol_worker(tx, "c", NOW)
    claim = await taken(one)
    async with one.transaction() as tx:
        await of(1).renew(tx, claim, NOW + 3 * HOLD)
        asking = asyncio.create_task(take(other, 2, NOW + HOLD))
        await _is_waiting(one)
    assert await asking == NOW + 3 * HOLD
    await one.close()
    await other.close()


async def _is_waiting(database: Database) -> None:
    """Returns when a session of the server waits for a row."""
    waiting = "select 1 as there from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(120):
        while True:
            async with database.reading() as tx:
                if await tx.fetch_one(waiting) is not None:
                    return


CHILD = """
import asyncio, sys
from datetime import timedelta
from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.db import open_database

async def main(place):
    clock = RealClock()
    database = await open_database(place, clock)
    async with database.transaction() as tx:
        worker = await registry.enrol_worker(tx, "c", clock.now())
        await WorkerClaims(lambda: worker).take(tx, "module census", clock.now() + timedelta(days=1), clock.now())
    print("taken", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_the_claim_of_a_killed_process_goes_to_the_next_that_looks(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "crawl.db") if kind == "sqlite" else str(request.getfixturevalue("migrated_url"))
    clock = RealClock()
    database = await open_database(place, clock)
    await database.create_tables()
    process = await create_subprocess_exec(sys.executable, "-c", CHILD, place, stdout=PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"taken\n"
    async with database.transaction() as tx:
        me = await registry.enrol_worker(tx, "c", clock.now())
    assert isinstance(await take(database, me, clock.now()), datetime)
    process.kill()
    await process.wait()
    async with database.transaction() as tx:
        await registry.end_workers(tx, await registry.dead_workers(tx, me, clock.now()), clock.now())
    assert (await taken(database, me, clock.now())).worker == me
    await database.close()
