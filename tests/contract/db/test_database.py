"""Transactions on both databases."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.moment import one_moment
from bowerbird.db.postgres.database import PostgresDatabase
from bowerbird.db.sqlite import database as sqlite
from bowerbird.errors import Busy, DiskFull, StoreError, Unreachable
from bowerbird.ports import Database, Transaction
from failures import raises_code


async def test_a_transaction_that_fails_leaves_nothing_behind(database: Database) -> None:
    async def fail() -> None:
        async with database.transaction() as tx:
            await tx.execute("insert into claims (name, worker, token, until) values ('x', 1, 1, 1)")
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        await fail()
    async with database.reading() as tx:
        assert await tx.fetch_one("select until from claims where name = 'x'") is None


async def test_statements_stay_ready_in_the_process_that_made_the_store(tmp_path: Path) -> None:
    """SQLite tells whoever authorizes of each statement that it makes ready."""
    database = sqlite.SqliteDatabase.open(str(tmp_path / "new.db"), RealClock())
    await database.create_tables()
    asked, made_ready = [f"select {number}" for number in range(300)], list[str]()

    def authorize(*_: object) -> int:
        made_ready.append("")
        return 0

    try:
        async with database.transaction() as tx:
            tx.connection.set_authorizer(authorize)  # type: ignore[attr-defined]
            await tx.fetch_all([(sql, ()) for sql in asked])
            assert len(made_ready) >= len(asked)
            made_ready.clear()
            await tx.fetch_all([(sql, ()) for sql in asked])
            assert not made_ready
    finally:
        await database.close()


@pytest.mark.parametrize("kind", [FileNotFoundError, ConnectionResetError, asyncpg.InterfaceError])
async def test_what_the_body_of_a_transaction_raises_is_its_own_affair(database: Database, kind: type[Exception]) -> None:
    async def fail(opened: AbstractAsyncContextManager[Transaction]) -> None:
        async with opened as tx:
            await tx.fetch("select 1")
            raise kind("of the body")

    for opened in (database.transaction(), database.reading()):
        with pytest.raises(kind, match="of the body"):
            await fail(opened)


async def test_a_statement_that_can_never_run_is_not_tried_for_ever(migrated_url: str) -> None:
    database = await open_database(migrated_url, RealClock())

    async def forget_a_value() -> None:
        async with database.transaction() as tx:
            await tx.execute("update claims set until = ? where name = ?", 5)

    with pytest.raises(asyncpg.InterfaceError, match="expects 2 arguments"):
        await forget_a_value()
    await database.close()


async def test_a_server_that_ends_the_connection_is_waited_for(migrated_url: str) -> None:
    database, other = await open_database(migrated_url, RealClock()), await asyncpg.connect(migrated_url)
    seen: list[str] = []

    async def cut_off() -> None:
        async with database.transaction() as tx:
            tx.on_rollback(lambda: seen.append("undone"))
            (row,) = await tx.fetch("select pg_backend_pid() as process")
            await other.execute("select pg_terminate_backend($1, 5000)", row["process"])
            await tx.execute("update residue set is_left = 1")

    with raises_code(Busy, "database_busy"):
        await cut_off()
    assert seen == ["undone"]
    async with database.reading() as tx:
        assert await tx.fetch_one("select 1 as answer") is not None
    await other.close()
    await database.close()


async def test_servers_of_which_none_takes_writes_are_waited_for(postgres_url: str, postgres_server: str) -> None:
    url = f"{postgres_url}&target_session_attrs=read-write"
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    database, other = await open_database(url, RealClock()), await asyncpg.connect(postgres_server)
    await other.execute(f"alter database {name} set default_transaction_read_only = on")
    await other.execute("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", name)
    with pytest.raises(Busy):
        await database.time()
    with pytest.raises(Unreachable):
        await open_database(url, RealClock())
    await other.execute(f"alter database {name} reset default_transaction_read_only")
    assert await database.time() is not None
    await other.close()
    await database.close()


async def test_a_worker_that_falls_asleep_in_a_transaction_lets_go_of_its_locks(migrated_url: str) -> None:
    """A laptop that is closed, a machine that is cut off: the others go on, and the sleeper tries again when it wakes up."""
    sleeper = await PostgresDatabase.open(migrated_url, RealClock(), patience=1)
    other = await PostgresDatabase.open(migrated_url, RealClock())
    change = "update residue set is_left = is_left + 1"
    changed: list[int] = []

    async def fall_asleep() -> None:
        async with sleeper.transaction() as mine:
            await mine.execute(change)
            async with other.transaction() as theirs:
                changed.append(await theirs.execute(change))
            await mine.execute(change)

    with pytest.raises(Busy):
        await fall_asleep()
    # Otherwise the other one would be told that the database is busy.
    assert changed == [1]
    async with sleeper.transaction() as mine:
        assert await mine.execute(change) > 0
    async with sleeper.reading() as tx:
        row = await tx.fetch_one("show idle_in_transaction_session_timeout")
    assert row is not None
    assert row["idle_in_transaction_session_timeout"] == "0"
    await sleeper.close()
    await other.close()


async def test_who_reads_sees_one_moment_however_long_it_takes(tmp_path: Path, migrated_url: str) -> None:
    count = "select count(*) as number from claims"
    for where in (str(tmp_path / "crawl.db"), migrated_url):
        database = await open_database(where, RealClock())
        await database.create_tables()
        async with database.reading() as tx, database.reading() as beside:
            before = [await each.fetch_one(count) for each in (tx, beside)]
            async with database.transaction() as writer:
                await writer.execute("insert into claims (name, worker, token, until) values ('new', 1, 1, 1)")
            assert [await each.fetch_one(count) for each in (tx, beside)] == before
            async with database.reading() as later:
                assert await later.fetch_one(count) != before[0]
        async with database.reading() as again:
            assert await again.fetch_one(count) != before[0]
        await database.close()


async def test_who_reads_cannot_write(tmp_path: Path, migrated_url: str) -> None:
    new = "insert into claims (name, worker, token, until) values ('new', 1, 1, 1)"

    async def write(database: Database) -> None:
        async with database.reading() as tx:
            await tx.execute(new)

    for where in (":memory:", str(tmp_path / "crawl.db"), migrated_url):
        database = await open_database(where, RealClock())
        await database.create_tables()
        with pytest.raises(DiskFull):
            await write(database)
        async with database.reading() as tx:
            assert not await tx.fetch("select 1 from claims")
        async with database.transaction() as tx:
            assert await tx.execute(new) == 1
        await database.close()


async def test_a_report_that_looks_many_times_tells_of_one_moment(tmp_path: Path, migrated_url: str) -> None:
    async def number(database: Database) -> int:
        async with database.reading() as tx:
            return int((await tx.fetch("select count(*) as number from claims"))[0]["number"])

    for where in (str(tmp_path / "crawl.db"), migrated_url):
        database = await open_database(where, RealClock())
        await database.create_tables()
        async with one_moment(database) as still:
            before = await number(still)
            async with database.transaction() as tx:
                await tx.execute("insert into claims (name, worker, token, until) values ('new', 1, 1, 1)")
            assert (await number(still), await number(database)) == (before, before + 1)
            with raises_code(StoreError, "unsupported"):
                still.transaction()
        await database.close()


async def test_a_list_parameter_finds_each_member(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute_many(
            "insert into claims (name, worker, token, until) values (?, 1, 1, ?)", [("a", 1), ("b", 2), ("c", 3)]
        )
        rows = await tx.fetch(f"select until from claims where name {database.any('text')}", database.members(["a", "c"]))
        more = await tx.fetch(f"select name from claims where until {database.any('bigint')}", database.members([2]))
    assert sorted(row["until"] for row in rows) == [1, 3]
    assert [row["name"] for row in more] == ["b"]


async def test_execute_says_how_many_rows_it_touched(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("insert into claims (name, worker, token, until) values ('x', 1, 1, 1)")
        assert await tx.execute("update claims set until = 5 where name = ?", "x") == 1
        assert await tx.execute("update claims set until = 5 where name = ?", "nobody") == 0


async def test_a_missing_folder_is_named(tmp_path: object) -> None:
    with raises_code(StoreError, "file_not_found") as caught:
        await open_database(f"{tmp_path}/nowhere/crawl.db", RealClock())
    assert f"{tmp_path}/nowhere" in caught.value.problem


async def test_a_file_that_is_no_database_is_named(tmp_path: object) -> None:
    path = f"{tmp_path}/crawl.db"
    with open(path, "w", encoding="utf-8") as file:  # noqa: ASYNC230, PTH123
        file.write("these are notes, not a database\n" * 200)
    with raises_code(StoreError, "database_failed") as caught:
        await open_database(path, RealClock())
    assert path in caught.value.problem


async def test_an_unreachable_server_is_named_without_its_password() -> None:
    with raises_code(Unreachable, "database_unreachable") as caught:
        await open_database("postgresql://me:secret-word@127.0.0.1:1/none", RealClock())
    assert "postgresql://127.0.0.1:1/none" in caught.value.problem
    assert "secret-word" not in str(caught.value)


async def test_a_full_disk_is_told_apart_and_nothing_is_half_written(tmp_path: object) -> None:
    database = await open_database(f"{tmp_path}/crawl.db", RealClock())
    await database.create_tables()
    async with database.reading() as tx:
        (pages,) = await tx.fetch("pragma page_count")
    # SQLite's own page limit fails exactly as a full disk does.
    database._writer.execute(f"pragma max_page_count = {pages[0] + 2}")  # type: ignore[attr-defined]

    async def fill() -> None:
        async with database.transaction() as tx:
            names = [("x" * 900 + str(n),) for n in range(50)]
            await tx.execute_many("insert into claims (name, worker, token, until) values (?, 1, 1, 0)", names)

    with raises_code(DiskFull, "disk_full") as caught:
        await fill()
    assert f"{tmp_path}/crawl.db" in caught.value.problem
    assert caught.value.advice
    async with database.transaction() as tx:
        assert await tx.fetch("select name from claims where name like 'x%'") == []
    await database.close()


async def test_a_locked_file_is_waited_for_and_then_told(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await open_database(f"{tmp_path}/crawl.db", RealClock())
    await first.create_tables()
    second = await open_database(f"{tmp_path}/crawl.db", RealClock())
    monkeypatch.setattr(sqlite, "_PATIENCE", timedelta(milliseconds=50))

    async def write() -> None:
        async with second.transaction():
            pass

    async with first.transaction():
        with raises_code(Busy, "database_busy") as caught:
            await write()
        assert f"{tmp_path}/crawl.db" in caught.value.problem
    await write()
    await first.close()
    await second.close()


async def test_texts_that_no_database_takes_are_mended(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("create table said (words text)")
        await tx.execute("insert into said (words) values (?)", "bye\0 \ud800")
        await tx.execute_many("insert into said (words) values (?)", [("a\0b",), ("\udfff",), ("fine",)])
        found = await tx.fetch("select words from said order by words")
        one = await tx.fetch_one("select count(*) as number from said where words = ?", "a\0b")
    assert sorted(row["words"] for row in found) == ["?", "ab", "bye ?", "fine"]
    assert one is not None
    assert one["number"] == 1


async def test_machines_whose_clocks_differ_go_by_the_time_of_their_database(migrated_url: str) -> None:
    for ahead in (timedelta(seconds=30), timedelta(seconds=-30)):
        clock = RealClock(lambda ahead=ahead: datetime.now(UTC) + ahead)  # type: ignore[misc]
        database = await open_database(migrated_url, clock)
        # As exactly as the database answers quickly, which it does not on a busy machine.
        assert abs(clock.correction() + ahead) < timedelta(seconds=10)
        told = await database.time()
        assert told is not None
        assert abs(clock.now() - told) < timedelta(seconds=10)
        await database.close()


_CRAWL = (
    "insert into crawls (crawl, name, flow, settings, state, wanted, created_at, updated_at) "
    "values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (crawl) do nothing"
)
_REST = ("", "", "", "", 0, 0)


async def test_statements_over_many_rows_run_together(database: Database) -> None:
    add = "insert into backups (crawl, due) values (?, ?) on conflict (crawl) do nothing"
    change = "update backups set due = due + coalesce(?, 0) where crawl = ?"
    async with database.transaction() as tx:
        await tx.execute_all([(_CRAWL, [(1, "a", *_REST), (2, "b", *_REST), (3, "c\0", *_REST)])])
        await tx.execute_all([(add, [(1, 1), (2, 2), (1, 9)]), (change, [])])
        await tx.execute_all([(add, [(3, 3)]), (change, [(10, 1), (None, 2)])])
        await tx.execute_all([(add, []), (change, [])])
        rows = await tx.fetch("select c.name, b.due from backups b join crawls c on c.crawl = b.crawl order by b.crawl")
    assert [(row["name"], row["due"]) for row in rows] == [("a", 11), ("b", 2), ("c", 3)]


async def test_what_waits_to_be_written_is_seen_by_whoever_asks_and_by_the_next_transaction(database: Database) -> None:
    add, change = "insert into backups (crawl, due) values (?, ?)", "update backups set due = ? where crawl = ?"
    due = "select crawl, due from backups order by crawl"
    async with database.transaction() as tx:
        await tx.execute_all([(_CRAWL, [(1, "a", *_REST), (2, "b", *_REST)])])
        await tx.execute_all([(add, [(1, 1), (2, 2)]), (change, None)])
        names, found, none = await tx.fetch_all(
            [("select name from crawls where crawl > ? order by crawl", [0]), (due, []), (f"{due} limit 0", [])]
        )
        assert [row["name"] for row in names] == ["a", "b"]
        assert [dict(row) for row in found] == [{"crawl": 1, "due": 1}, {"crawl": 2, "due": 2}]
        assert list(none) == []
        # The same row twice, and nothing is asked between the two.
        await tx.execute_all([(change, [(3, 1)])])
        await tx.execute_all([(change, [(4, 1)])])
        assert await tx.execute("update backups set due = due + 1 where due = ?", 4) == 1
        await tx.execute_all([(change, [(9, 2)])])
    async with database.transaction() as tx:
        assert [(row["crawl"], row["due"]) for row in await tx.fetch(due)] == [(1, 5), (2, 9)]


async def test_a_write_that_waits_and_is_refused_fails_the_transaction(database: Database) -> None:
    add = "insert into backups (crawl, due) values (?, ?)"

    async def write() -> None:
        async with database.transaction() as tx:
            await tx.execute_all([(_CRAWL, [(1, "a", *_REST)])])
            await tx.execute_all([(add, [(1, 1), (1, 2)])])

    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        await write()
    async with database.transaction() as tx:
        assert await tx.fetch("select crawl from crawls") == []


@pytest.mark.parametrize("ending", ["cut off", "read only", "refused"])
async def test_a_write_that_fails_only_at_the_commit_is_told_like_any_other_and_undone(migrated_url: str, ending: str) -> None:
    database, other = await open_database(migrated_url, RealClock()), await asyncpg.connect(migrated_url)
    seen: list[str] = []

    async def write() -> None:
        async with database.transaction() as tx:
            tx.on_rollback(lambda: seen.append("undone"))
            tx.after_commit(lambda: seen.append("kept"))
            (row,) = await tx.fetch("select pg_backend_pid() as process")
            if ending == "read only":
                await tx.execute("set transaction read only")
            await tx.execute_all([(_CRAWL, [(7 if ending != "refused" else None, "a", *_REST)])])
            if ending == "cut off":
                await other.execute("select pg_terminate_backend($1, 5000)", row["process"])

    kinds = {"cut off": Busy, "read only": DiskFull, "refused": asyncpg.NotNullViolationError}
    with pytest.raises(kinds[ending]):
        await write()
    assert seen == ["undone"]
    async with database.transaction() as tx:
        assert await tx.fetch("select crawl from crawls where crawl = 7") == []
    await other.close()
    await database.close()


async def test_what_many_rows_return_comes_back_from_one_call(database: Database) -> None:
    async with database.transaction() as tx:
        first = await tx.fetch_many(f"{_CRAWL} returning name", [(1, "a", *_REST), (2, "b\0", *_REST)])
        again = await tx.fetch_many(f"{_CRAWL} returning name", [(2, "b", *_REST), (3, "c", *_REST)])
    assert [row["name"] for row in (*first, *again)] == ["a", "b", "c"]


async def test_a_server_without_room_for_more_locks_says_what_to_set(migrated_url: str) -> None:
    database = await open_database(migrated_url, RealClock())
    with raises_code(DiskFull, "disk_full") as caught:
        async with database.transaction() as tx:
            await tx.execute("select pg_advisory_xact_lock(each) from generate_series(1, 1000000) as each")
    assert "max_locks_per_transaction" in caught.value.advice
    async with database.transaction() as tx:
        assert await tx.fetch_one("select 1 as one") is not None
    await database.close()


async def test_what_does_not_wait_for_the_disk_is_seen_by_others_all_the_same(tmp_path: Path) -> None:
    store = str(tmp_path / "passing.db")
    database = await open_database(store, RealClock(), waits_for_disk=False)
    await database.create_tables()
    async with database.transaction() as tx:
        await tx.execute("insert into claims (name, worker, token, until) values ('x', 1, 1, 5)")
    # Never closed in order: this is all that a killed process leaves behind.
    other = sqlite.sqlite_module().connect(store)
    assert other.execute("select until from claims where name = 'x'").fetchone() == (5,)
    other.close()
    await database.close()
