"""What the database is made of: sizes, growth, structure and activity, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from bowerbird.clock import RealClock, to_micros
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.reports.database.activity import read_activity, without_values
from bowerbird.reports.database.tables import Point, filling, read_before, read_log, read_sizes, read_structure
from bowerbird.reports.database.writes import is_here, read_writes
from bowerbird.store.prepared_reports import Prepared, keep_prepared, read_prepared
from failures import raises_code

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
_CALL = """
insert into calls (crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, settled_at, settle_micros)
values (1, 1, 'timeline', 1, 'settled', '[]', 1, 'a', ?, 0, ?, 10)
"""


async def test_every_table_and_index_has_rows_and_bytes(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute_many(
            "insert into users (id, network, description, found_at) values (?, 'x', ?, 1)",
            [(f"x:{n}", "a long word about myself " * 20) for n in range(500)],
        )
    sizes = await read_sizes(database)
    found = {each.name: each for each in sizes.tables}
    assert (found["users"].rows, found["users"].is_exact, found["users"].of) == (500, True, None)
    assert found["users_handle"].of == "users"
    assert found["users"].bytes > 200_000
    assert sizes.whole >= max(each.bytes for each in sizes.tables)
    assert [each.bytes for each in sizes.tables] == sorted((each.bytes for each in sizes.tables), reverse=True)


async def test_the_growth_log_tells_what_was_and_when_the_disk_is_full(database: Database) -> None:
    rows = [(to_micros(NOW - days * DAY), "database", 0, 1, 1_000 * (10 - days)) for days in (3, 2, 1)]
    async with database.transaction() as tx:
        await tx.execute_many("insert into growth (at, name, rows, is_exact, bytes) values (?, ?, ?, ?, ?)", rows)
    async with database.reading() as tx:
        log, before = await read_log(tx), await read_before(tx, NOW - 1.5 * DAY)
    assert [point.bytes for point in log] == [7_000, 8_000, 9_000]
    assert before["database"].bytes == 8_000
    told = filling(log, 5_000, NOW)
    assert told is not None
    assert (told.a_day, told.full_at) == (1_000, NOW + 5 * DAY)


def test_nothing_is_foretold_of_one_look_or_of_what_does_not_grow() -> None:
    points = [Point(NOW - DAY, 1, True, 500), Point(NOW, 1, True, 500)]
    assert filling(points[:1], 100, NOW) is None
    elsewhere = filling([Point(NOW - DAY, 1, True, 500), Point(NOW, 1, True, 700)], None, NOW)
    assert elsewhere is not None
    assert (elsewhere.a_day, elsewhere.full_at) == (200, None)
    still = filling(points, 100, NOW)
    assert still is not None
    assert still.full_at is None


async def test_a_server_at_an_address_of_this_machine_is_here(database: Database) -> None:
    async with database.reading() as tx:
        assert await is_here(tx, database.dialect)


async def test_writes_of_late_are_told_and_old_ones_are_not_looked_for(database: Database) -> None:
    old, late = to_micros(NOW - DAY), to_micros(NOW - timedelta(minutes=1))
    async with database.transaction() as tx:
        await tx.execute_many(_CALL, [*((old, old),) * 5, *((late, late),) * 3])
    async with database.reading() as tx:
        writes = await read_writes(tx, NOW)
        assert (writes.per_second, len(writes.slowest)) == (2 * 3 / 60, 8)
        assert (await read_writes(tx, NOW + DAY)).per_second == 0.0


async def test_a_table_is_told_by_its_columns_and_indexes(database: Database) -> None:
    async with database.reading() as tx:
        told = await read_structure(tx, database.dialect, "errors")
        with raises_code(UserError, "unknown_name") as caught:
            await read_structure(tx, database.dialect, "x; drop")
        assert "'x; drop'" in str(caught.value)
    assert [column.name for column in told.columns][:3] == ["error", "at", "crawl"]
    assert told.columns[0].is_key
    assert told.columns[1].is_needed
    assert "errors_at" in told.indexes


async def test_a_server_tells_what_runs_in_it(database: Database) -> None:
    if database.dialect == "sqlite":
        return
    async with database.transaction() as held:
        await held.execute("lock table errors in access exclusive mode")
        async with database.reading() as tx:
            activity = await read_activity(tx, NOW)
    assert activity.totals is not None
    assert activity.totals.connections >= 2
    assert [each.sql for each in activity.running if each.open_seconds is not None]
    assert ("errors", True) in [(lock.relation, lock.is_granted) for lock in activity.locks]
    assert activity.slow is None


async def test_of_other_programs_in_the_same_database_no_statement_is_told(migrated_url: str) -> None:
    ours, other = await open_database(migrated_url, RealClock()), await asyncpg.connect(migrated_url)
    try:
        await other.fetch("select 'a secret of another program'")
        async with ours.transaction() as held:
            await held.fetch("select 'what somebody looks for', 4711 as number")
            async with ours.reading() as tx:
                activity = await read_activity(tx, NOW)
    finally:
        await other.close()
        await ours.close()
    told = {(each.who, each.sql) for each in activity.running}
    assert ("another program", "") in told
    assert ("bowerbird", "select ?, ? as number") in told
    assert "secret" not in str(activity)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select 'it''s', E'a\\'b', 1.5e3, x from t where a = $1", "select ?, ?, ?, x from t where a = $1"),
        ("alter role a password 'secr", "alter role a password ?"),
        ("select \"a 'b\" , 'x' -- 'y\n from t2 /* z */", 'select "a \'b" , ? from t2'),
        ("select $$a$$, $tag$ $1 'b' $tag$, $2 limit 20", "select ?, ?, $2 limit ?"),
        ("select U&'x', B'01', n'y' from posts_1", "select ?, ?, ? from posts_1"),
    ],
)
def test_statements_are_told_without_what_is_written_in_them(sql: str, told: str) -> None:
    assert without_values(sql) == told


async def test_a_report_that_takes_long_is_kept_with_its_age(database: Database) -> None:
    async with database.transaction() as tx:
        assert await read_prepared(tx, "completeness") is None
        for document in ("{}", '{"new": 1}'):
            await keep_prepared(tx, "completeness", Prepared(NOW, timedelta(seconds=2), document))
        assert await read_prepared(tx, "completeness") == Prepared(NOW, timedelta(seconds=2), '{"new": 1}')
