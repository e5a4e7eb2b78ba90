"""What `status` reads beside the summary, on both databases."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird import cli
from bowerbird.clock import RealClock, from_micros, to_micros
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.running import living
from bowerbird.db import open_database
from bowerbird.db.sqlite.short_columns import written
from bowerbird.model import Service
from bowerbird.ports import Database, Transaction
from bowerbird.reports.status.health import Completeness, Pace, read_health
from failures import command_error

NOW = datetime(2026, 1, 5, tzinfo=UTC)
AT = to_micros(NOW)
_CALL = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, settled_at, new_items)
values (1, 1, 'timeline', 1, 'settled', '', 1, '', ?, ?, ?, ?)
"""


async def visited(database: Database, tx: Transaction, target: str, *, claims: int, has: int) -> None:
    """An account whose timeline was visited, with a counter and some stored posts."""
    number = int(target)
    await tx.execute(
        "insert into users (user_no, id, network, posts, found_at, seen_at) values (?, ?, 'x', ?, ?, ?)",
        *(number, f"x:{target}", claims, AT, AT),
    )
    names = ("id", "network", "author", "kind", "found_at", "found_by", "seen_at", "seen_by")
    columns = ", ".join(written(database.dialect, name) for name in names)
    await tx.execute_many(
        f"insert into posts ({columns}) values (?, 'x', ?, 'post', ?, 1, ?, 1)",
        [(f"x:{target}-{post}", number, AT, AT) for post in range(has)],
    )
    await tx.execute(
        "insert into tasks (lane, target, ready, priority, state, visits, added_at) values (1, ?, 0, 0.0, 'asleep', 1, ?)",
        target,
        AT,
    )


async def test_an_empty_database_stands_still(database: Database) -> None:
    health = await read_health(database)
    assert health.pace == Pace(0, 0, None, None)
    assert health.completeness == Completeness(0, 0, 0)
    assert (health.refusals, health.quarantine) == ((), ())
    assert health.size > 0


async def test_the_pace_is_that_of_the_settled_calls(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute_many(_CALL, [(AT, AT, AT + second * 1_000_000, 5) for second in range(11)])
    pace = (await read_health(database)).pace
    assert (pace.calls, pace.items, pace.span) == (11, 55, timedelta(seconds=10))


async def test_refused_credentials_and_quarantine_are_told(database: Database) -> None:
    async with database.transaction() as tx:
        for name in ("a", "b"):
            await registry.enrol_service(tx, Service(name=name, provider="mastodon", base=f"https://{name}.example"), "mastodon")
        await registry.refuse_credential(tx, "a", "mine", "401 revoked", NOW)
        await registry.refuse_credential(tx, "b", "mine", "401 not ours", NOW)
        await registry.accept_credentials(tx, [("b", ["mine"])])
        await tx.execute_many(
            "insert into quarantine_sources (service, facet, why, items, bytes, first_at, last_at) "
            "values (1, 'timeline', ?, ?, 9, 1, 1)",
            [("no id", 3_000_001), ("no author", 1)],
        )
    health = await read_health(database)
    assert [(one.service, one.credential, one.reason) for one in health.refusals] == [("a", "mine", "401 revoked")]
    assert [(one.why, one.items, one.kept) for one in health.quarantine] == [("no id", 3_000_001, 0), ("no author", 1, 0)]


async def test_completeness_compares_counters_with_what_is_stored(database: Database) -> None:
    async with database.transaction() as tx:
        crawl = await registry.enrol_crawl(tx, "c", "{}", "{}", NOW)
        service = await registry.enrol_service(tx, Service(name="s", provider="twitter_v1", base="https://x.example"), "x")
        assert await registry.enrol_lane(tx, crawl.crawl, service, "timeline") == 1
        await visited(database, tx, "1", claims=10, has=8)
        await visited(database, tx, "2", claims=3, has=5)
        await visited(database, tx, "3", claims=0, has=0)
    assert (await read_health(database)).completeness == Completeness(2, 13, 11)


async def test_a_worker_that_fell_silent_is_not_counted_as_living(database: Database) -> None:
    async with database.transaction() as tx:
        row = "insert into workers (name, host, pid, started_at, seen_at) values (?, 'elsewhere.example', 1, ?, ?)"
        await tx.execute_many(row, [("c", AT, AT), ("other", AT, AT), ("c", AT, to_micros(NOW - timedelta(hours=1)))])
        assert [(one.worker, one.seen_at) for one in await living(tx, "c", NOW)] == [(1, from_micros(AT))]
        assert len(await living(tx, None, NOW)) == 2


@pytest.fixture
async def served(migrated_url: str) -> str:
    opened = await open_database(migrated_url, RealClock())
    await opened.create_tables()
    async with opened.transaction() as tx:
        await registry.enrol_crawl(tx, "far", '{"name": "graph"}', "{}", NOW)
    await opened.close()
    return migrated_url


def test_status_and_controls_work_on_postgresql(served: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["status", served, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(crawl["name"], crawl["flow"]) for crawl in told["crawls"]] == [("far", "graph")]
    assert told["processes"] == []
    assert cli.run(["stop", served, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["processes"] == 0


def test_a_database_that_is_not_ours_is_left_alone(postgres_url: str) -> None:
    command_error("status", postgres_url, code="not_a_store")
