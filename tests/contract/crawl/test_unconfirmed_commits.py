"""A commit that PostgreSQL makes without confirming it, because the connection breaks first: no lease outlives it for minutes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from datetime import timedelta
from typing import TypeVar

import asyncpg
import pytest
from stream_scene import Scene as StreamScene
from work_scene import MINUTE, Scene

from bowerbird.clock import RealClock, to_micros
from bowerbird.crawl.life.recovery import Recovery
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.crawl.work.source import LocalWorkSource
from bowerbird.db import open_database
from bowerbird.errors import Busy
from bowerbird.evaluate.postgres import run_postgres
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Leased
from bowerbird.ports import Database, WorkSource

T = TypeVar("T")

_SETTINGS = {"fsync": "off", "synchronous_commit": "local", "synchronous_standby_names": "'ANY 1 (missing)'"}
"""A commit that waits for a standby waits for ever; only those that ask for it do."""
_HOLD = """
create function wait_for_standby() returns trigger language plpgsql as
    $$ begin perform set_config('synchronous_commit', 'on', true); return null; end $$;
create trigger wait_for_standby after insert on calls execute function wait_for_standby();
"""
_BREAK = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
_LET_GO = "drop trigger wait_for_standby on calls; drop function wait_for_standby;"
_LOOK = timedelta(milliseconds=10)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with run_postgres(_SETTINGS) as server:
        yield server.url


@pytest.fixture
async def url(server: str) -> AsyncIterator[str]:
    connection = await asyncpg.connect(server)
    await connection.execute("create database crawl")
    yield server.replace("/postgres?", "/crawl?")
    await connection.execute("drop database crawl with (force)")
    await connection.close()


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    opened = await open_database(url, RealClock())
    await opened.create_tables()
    yield opened
    await opened.close()


async def _as_it_is(scene: Scene, source: LocalWorkSource) -> WorkSource:
    return source


async def _break_commit(url: str, work: Awaitable[T]) -> asyncio.Task[T]:
    """Starts `work`, which begins a call: the server commits that and ends the session instead of confirming it."""
    clock, connection = RealClock(), await asyncpg.connect(url)
    await connection.execute(_HOLD)
    working = asyncio.ensure_future(work)
    while not await connection.fetch(_BREAK):
        await clock.sleep_until(clock.now() + _LOOK)
    await connection.execute(_LET_GO)
    await connection.close()
    return working


async def _lease_unconfirmed(scene: Scene, source: WorkSource, url: str, room: int) -> None:
    working = await _break_commit(url, source.lease(scene.offer("key", room=room)))
    with pytest.raises(Busy):
        await working


async def _lease(scene: Scene, source: WorkSource, room: int) -> list[str]:
    """The targets of calls that are leased now."""
    work = await source.lease(scene.offer("key", room=room))
    return sorted(each for lease in work.leases for each in lease.ask.targets) if isinstance(work, Leased) else []


async def test_tasks_of_an_unconfirmed_lease_are_leased_again_at_once(database: Database, url: str) -> None:
    scene = Scene(RealClock(), database, _as_it_is)
    source = await scene.source()
    await scene.add("timeline", "1", "2", "3")
    await _lease_unconfirmed(scene, source, url, 2)
    assert await scene.calls() == [("flying", None)] * 2
    assert await _lease(scene, source, 3) == ["1", "2", "3"]


async def test_limits_of_an_unconfirmed_lease_are_free_after_the_next_recovery(database: Database, url: str) -> None:
    scene = Scene(RealClock(), database, _as_it_is)
    source = await scene.source("key")
    await scene.add("profile", "1", "2", "3", "4")
    await _lease_unconfirmed(scene, source, url, 1)
    # A window is entered by one call, which nobody makes.
    assert await _lease(scene, source, 1) == []
    await _recover(scene)
    (ledger,) = await scene.rows("select in_flight, spent from ledgers")
    assert (ledger["in_flight"], ledger["spent"]) == (0, 1)
    assert await scene.calls() == [("lost", "lost")]


async def _recover(scene: Scene) -> None:
    """What a process does once in a second."""

    def me() -> int:
        return scene.worker

    frontier = TaskFrontier(scene.database, me, lease=3 * MINUTE, call=MINUTE)
    (crawl,) = await scene.rows("select crawl from crawls")
    recovery = Recovery(QueryLog(crawl["crawl"], me), RateLimits(pace=False), frontier, crawl["crawl"])
    async with scene.database.transaction() as tx:
        await recovery.recover(tx, scene.worker, scene.clock.now())


async def test_an_unconfirmed_connection_of_a_stream_does_not_stay_leased(database: Database, url: str) -> None:
    scene = StreamScene(RealClock(), database)
    streamer = await scene.streamer("ticks")
    listening = await _break_commit(url, streamer.run())
    while not scene.transport.connections:
        await scene.wait(_LOOK)
    streamer.end()
    await listening
    calls = await scene.rows("select state, expires_at <= ? as is_over from calls order by call", to_micros(scene.clock.now()))
    assert [(row["state"], row["is_over"]) for row in calls] == [("flying", True), ("settled", False)]
