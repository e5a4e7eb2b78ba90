"""The row of a stream on both databases: one worker holds it, and only that one moves its cursor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.crawl.streaming import stream_rows
from bowerbird.crawl.streaming.stream_rows import HOLD, Position, Step, enrol_stream
from bowerbird.errors import Fenced
from bowerbird.model import Service, Subscription
from bowerbird.ports import Database
from failures import raises_code

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
SERVICE = Service(name="s", provider="bluesky", base="https://s.example")


async def enrolled(database: Database, channel: str = "jetstream", **options: tuple[str, ...]) -> int:
    async with database.transaction() as tx:
        crawl = await registry.enrol_crawl(tx, "c", "{}", "{}", NOW)
        service = await registry.enrol_service(tx, SERVICE, "bluesky")
        for _ in range(3):
            await registry.enrol_worker(tx, "c", NOW)
        return await enrol_stream(tx, crawl.crawl, service, Subscription(channel=channel, options=options, name="mine"))


def claims(worker: int = 1) -> WorkerClaims:
    return WorkerClaims(lambda: worker)


async def take(database: Database, stream: int, worker: int = 1, *, now: datetime = NOW) -> Position | datetime:
    async with database.transaction() as tx:
        return await stream_rows.take(tx, claims(worker), stream, now)


async def taken(database: Database, stream: int, worker: int = 1, now: datetime = NOW) -> Position:
    position = await take(database, stream, worker, now=now)
    assert isinstance(position, Position)
    return position


async def advance(database: Database, position: Position, now: datetime = LATER, cursor: str | None = None) -> Position:
    async with database.transaction() as tx:
        return await stream_rows.advance(
            tx, claims(), position, Step(state="live", cursor=cursor, event_at=now, heard_at=now, events=3), now
        )


async def test_a_new_stream_has_heard_nothing(database: Database) -> None:
    position = await taken(database, await enrolled(database))
    assert (position.cursor, position.head, position.event_at, position.heard_at, position.connected_at) == (None,) * 5


async def test_a_step_moves_what_it_names_and_leaves_the_rest(database: Database) -> None:
    position = await taken(database, await enrolled(database))
    position = await advance(database, position, cursor="7")
    position = await advance(database, position)
    assert (position.cursor, position.event_at, position.heard_at) == ("7", LATER, LATER)
    async with database.reading() as tx:
        (row,) = await tx.fetch("select events, state from streams")
    assert (row["events"], row["state"]) == (6, "live")


async def test_a_stream_that_is_held_is_not_given_away_until_the_hold_runs_out(database: Database) -> None:
    stream = await enrolled(database)
    position = await advance(database, await taken(database, stream), cursor="7")
    assert await take(database, stream, worker=2, now=LATER) == LATER + HOLD
    other = await taken(database, stream, worker=2, now=LATER + HOLD)
    assert (other.cursor, other.claim.worker) == ("7", 2)
    with raises_code(Fenced, "lease_lost"):
        await advance(database, position, cursor="8")
    assert (await advance(database, other)).cursor == "7"


async def test_the_stream_of_a_dead_worker_is_free_at_once(database: Database) -> None:
    stream = await enrolled(database)
    await taken(database, stream)
    assert isinstance(await take(database, stream, worker=2), datetime)
    async with database.transaction() as tx:
        await registry.end_workers(tx, [1], NOW)
    assert isinstance(await take(database, stream, worker=2, now=LATER), Position)
    assert isinstance(await take(database, stream, worker=1, now=LATER + HOLD), datetime)


async def test_a_stream_that_was_released_is_free_at_once_and_only_its_holder_releases_it(database: Database) -> None:
    stream = await enrolled(database)
    first = await taken(database, stream)
    async with database.transaction() as tx:
        await stream_rows.release(tx, claims(), first)
    second = await taken(database, stream, worker=2)
    async with database.transaction() as tx:
        await stream_rows.release(tx, claims(), first)
    assert isinstance(await take(database, stream, worker=3), datetime)
    assert (await advance(database, second)).claim.token == second.claim.token


async def test_a_worker_that_begins_again_takes_its_own_stream(database: Database) -> None:
    stream = await enrolled(database)
    first = await taken(database, stream)
    second = await taken(database, stream)
    assert second.claim.token != first.claim.token
    with pytest.raises(Fenced):
        await advance(database, first)


async def test_other_options_keep_the_cursor_and_another_channel_drops_it(database: Database) -> None:
    stream = await enrolled(database)
    position = await advance(database, await taken(database, stream), cursor="7")
    assert await enrolled(database, collections=("app.bsky.feed.post",)) == stream
    assert (await advance(database, position)).cursor == "7"
    assert await enrolled(database, "firehose") == stream
    assert (await advance(database, position)).cursor is None
