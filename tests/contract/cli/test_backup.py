"""Backups: taken while the store is written, whole or not there at all, restorable into either database."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bowerbird.clock import RealClock
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.db.files.backup import back_up, restore
from bowerbird.db.sqlite.short_columns import read
from bowerbird.errors import StoreError
from bowerbird.model import Facet, Page, Post, Service, Subject, User
from bowerbird.ports import Database, Row
from bowerbird.store import Store
from failures import json_error, raises_code

NOW = datetime(2026, 1, 5, tzinfo=UTC)
SERVICE = Service(name="s", provider="mastodon", base="https://s.example")
FACET = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts", "users"}))


_TIE = "insert into relation_history (kind, source, target, change, before_at, call) values ('follow', 1, ?, 'added', 5, 1)"


async def filled(where: str, posts: range) -> None:
    database = await open_database(where, RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        await registry.enrol_crawl(tx, "c", "{}", "{}", NOW)
        await registry.enrol_service(tx, SERVICE, "mastodon")
        await tx.execute_many(_TIE, [(target,) for target in (9, 7, 8)])
    await written(database, posts)
    await database.close()


async def written(database: Database, posts: range) -> None:
    author = User(id="https://s.example/users/a", key="1", handle="a")
    page = Page(
        users=(author,),
        posts=tuple(Post(id=f"https://s.example/{n}", key=str(n), author=author.id, text=f"p{n}", raw=b"{}") for n in posts),
    )
    store = Store(database)
    async with database.transaction() as tx:
        await store.save(tx, page, service=SERVICE, tasks=(), facet=FACET, call=1, now=NOW)


async def contents(where: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, without order and without the database's own spelling of bytes."""
    database = await open_database(where, RealClock())
    names = ("crawls", "services", "users", "posts", "post_keys", "deletions", "media_intake", "residue", "relation_history")
    async with database.reading() as tx:
        rows = {name: [_read(row) for row in await tx.fetch(f"select * from {name}")] for name in names}
    await database.close()
    return {name: sorted(each, key=repr) for name, each in rows.items()}


def _read(row: Row) -> tuple[Any, ...]:
    """In an order of its own, without what one database keeps otherwise than it is read."""
    return tuple(value for name, value in sorted(dict(row).items()) if read(name) == name and name != "change_no")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "crawl.db") if request.param == "sqlite" else str(request.getfixturevalue("migrated_url"))


async def test_a_backup_of_either_database_restores_into_a_file_with_everything_in_it(place: str, tmp_path: Path) -> None:
    await filled(place, range(7_000))
    copied = await back_up(place, tmp_path / "b.db", RealClock())
    await restore(tmp_path / "b.db", str(tmp_path / "again.db"), RealClock())
    assert await contents(str(tmp_path / "again.db")) == await contents(place)
    assert copied.rows > 14_000


async def test_a_backup_restores_into_postgresql_and_the_crawl_goes_on_counting(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await filled(place, range(50))
    await back_up(place, tmp_path / "b.db", RealClock())
    before = await contents(place)
    if place.startswith("postgresql"):
        database = await open_database(place, RealClock())
        async with database.transaction() as tx:
            for table in ("gaps", "streams", "lanes", "posts", "post_keys", "users", "services", "crawls", "deletions",
                          "relation_history"):  # fmt: skip
                await tx.execute(f"delete from {table}")
        await database.close()
        target = place
    else:
        target = str(request.getfixturevalue("postgres_url"))
    await restore(tmp_path / "b.db", target, RealClock())
    assert await contents(target) == before
    database = await open_database(target, RealClock())
    await written(database, range(50, 60))
    async with database.reading() as tx:
        row = await tx.fetch_one("select count(*) as posts from posts")
    await database.close()
    assert row is not None
    assert row["posts"] == 60


async def test_a_backup_of_postgresql_knows_the_numbers_that_nobody_may_get_again(migrated_url: str, tmp_path: Path) -> None:
    await filled(migrated_url, range(50))
    database = await open_database(migrated_url, RealClock())
    async with database.transaction() as tx:
        (last,) = await tx.fetch("select max(user_no) as users, (select max(post_no) from posts) as posts from users")
        await tx.execute("delete from users where user_no = ?", last["users"])
        await tx.execute("delete from posts where post_no = ?", last["posts"])
    await database.close()
    await back_up(migrated_url, tmp_path / "b.db", RealClock())
    copy = await open_database(str(tmp_path / "b.db"), RealClock())
    async with copy.reading() as tx:
        (given,) = await tx.fetch("select users, posts from highest_numbers")
    await copy.close()
    assert given["users"] >= last["users"]
    assert given["posts"] >= last["posts"]


async def test_what_is_written_during_a_backup_is_in_it_whole_or_not_at_all(tmp_path: Path) -> None:
    place = str(tmp_path / "crawl.db")
    await filled(place, range(2_000))
    database = await open_database(place, RealClock())
    async with database.transaction() as tx:
        await tx.execute("insert into deletions (subject, id, reason, at) values ('post', 'x', 'not_found', 1)")
        await back_up(place, tmp_path / "during.db", RealClock())
    await database.close()
    assert (await contents(str(tmp_path / "during.db")))["deletions"] == []
    assert len((await contents(place))["deletions"]) == 1


async def test_backup_of_postgresql_holds_one_moment(migrated_url: str, tmp_path: Path) -> None:
    await filled(migrated_url, range(3))
    connection = await asyncpg.connect(migrated_url)
    await connection.execute("insert into claims (name, worker, token, until) values ('a', 1, 1, 1)")
    await connection.close()

    copied: list[str] = []

    def said(table: str, rows: int) -> None:
        copied.append(table)
        if table == "claims":
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _end_crawls(migrated_url)).result()

    await back_up(migrated_url, tmp_path / "b.db", RealClock(), said)
    assert copied.index("claims") < copied.index("crawls")
    assert len((await contents(str(tmp_path / "b.db")))["crawls"]) == 1


async def _end_crawls(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("delete from crawls")
    await connection.close()


async def test_backup_has_its_name_only_when_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, target = str(tmp_path / "crawl.db"), tmp_path / "b.db"
    await filled(place, range(3))
    synced: list[tuple[int, bool]] = []
    sync = os.fsync

    def watch(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, target.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    copied = await back_up(place, target, RealClock())
    assert (target.stat().st_ino, False) in synced
    assert copied.size > 0


async def test_restore_that_fails_leaves_an_empty_database(migrated_url: str, tmp_path: Path) -> None:
    backup = tmp_path / "b.db"
    await filled(str(tmp_path / "crawl.db"), range(3))
    await back_up(str(tmp_path / "crawl.db"), backup, RealClock())
    with closing(sqlite3.connect(backup)) as connection, connection:
        # SQLite keeps text in a column of numbers.
        connection.execute("update posts set author = 'damaged'")
    with pytest.raises((asyncpg.DataError, TypeError)):
        await restore(backup, migrated_url, RealClock())
    assert (await contents(migrated_url))["crawls"] == []


async def test_restore_of_damaged_backup_is_refused(tmp_path: Path) -> None:
    backup = tmp_path / "b.db"
    await filled(str(tmp_path / "crawl.db"), range(3))
    await back_up(str(tmp_path / "crawl.db"), backup, RealClock())
    # Rows are deleted while an index of their table is hidden: it keeps entries without rows.
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("pragma writable_schema = on")
        (index,) = connection.execute(
            "select * from sqlite_master where type = 'index' "
            "and tbl_name = 'relation_history' and sql not like '% where %' limit 1"
        ).fetchall()
        connection.execute("delete from sqlite_master where name = ?", (index[1],))
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("delete from relation_history")
        connection.execute("pragma writable_schema = on")
        connection.execute("insert into sqlite_master values (?, ?, ?, ?, ?)", index)
    with pytest.raises(StoreError):
        await restore(backup, str(tmp_path / "restored.db"), RealClock())
    assert not (tmp_path / "restored.db").exists()


async def test_nothing_is_overwritten_and_nothing_half_made_is_left(place: str, tmp_path: Path) -> None:
    await filled(place, range(3))
    (tmp_path / "there.db").write_bytes(b"mine")
    with raises_code(StoreError, "already_exists"):
        await back_up(place, tmp_path / "there.db", RealClock())
    assert (tmp_path / "there.db").read_bytes() == b"mine"
    await back_up(place, tmp_path / "b.db", RealClock())
    with raises_code(StoreError, "already_exists"):
        await restore(tmp_path / "b.db", place, RealClock())
    assert list(tmp_path.glob("*.unfinished*")) == []  # noqa: ASYNC240


async def _begun_backup(folder: Path, steps: int) -> asyncio.Task[object]:
    taking: asyncio.Task[object] = asyncio.create_task(back_up(str(folder / "crawl.db"), folder / "kept" / "b.db", RealClock()))
    for _ in range(steps):
        await asyncio.sleep(0)
    return taking


@pytest.mark.asyncio(loop_scope="function")  # whose threads can all be waited for
@pytest.mark.parametrize("steps", [1, 2, 20])
async def test_a_backup_that_is_called_off_leaves_no_thread_that_writes_on(steps: int, tmp_path: Path) -> None:
    await filled(str(tmp_path / "crawl.db"), range(7_000))
    (tmp_path / "kept").mkdir()
    taking = await _begun_backup(tmp_path, steps)
    while not taking.cancel():
        # On a busy machine the copy may have been the faster one.
        (tmp_path / "kept" / "b.db").unlink()
        taking = await _begun_backup(tmp_path, steps)
    with pytest.raises(asyncio.CancelledError):
        await taking
    await asyncio.get_running_loop().shutdown_default_executor()
    assert list((tmp_path / "kept").iterdir()) == []


async def test_a_damaged_backup_is_refused_with_words(tmp_path: Path) -> None:
    place = str(tmp_path / "crawl.db")
    await filled(place, range(3_000))
    await back_up(place, tmp_path / "b.db", RealClock())
    body = bytearray((tmp_path / "b.db").read_bytes())
    body[len(body) // 2 : len(body) // 2 + 20_000] = bytes(20_000)
    (tmp_path / "b.db").write_bytes(bytes(body))
    with raises_code(StoreError, "file_damaged"):
        await restore(tmp_path / "b.db", str(tmp_path / "new.db"), RealClock())
    assert not (tmp_path / "new.db").exists()
    (tmp_path / "text.db").write_text("no database")
    with raises_code(StoreError, "file_damaged"):
        await restore(tmp_path / "text.db", str(tmp_path / "new.db"), RealClock())


async def test_of_two_copies_to_one_name_one_is_made_and_the_other_refused_with_words(place: str, tmp_path: Path) -> None:
    await filled(place, range(500))
    ended = await asyncio.gather(*(back_up(place, tmp_path / "b.db", RealClock()) for _ in range(2)), return_exceptions=True)
    refused = [each for each in ended if isinstance(each, BaseException)]
    assert [(type(each), getattr(each, "code", "")) for each in refused] == [(StoreError, "already_exists")]
    assert len((await contents(str(tmp_path / "b.db")))["posts"]) == 500
    assert [path.name for path in tmp_path.glob("b.db*")] == ["b.db"]  # noqa: ASYNC240


def _with_a_full_disk() -> None:
    """No file of this process may grow beyond 200 KB, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


async def test_a_backup_that_finds_no_room_leaves_nothing_behind_and_says_so(tmp_path: Path) -> None:
    place = str(tmp_path / "crawl.db")
    await filled(place, range(5_000))
    (tmp_path / "backups").mkdir()
    for command in (
        ["backup", place, str(tmp_path / "backups" / "b.db")],
        ["restore", place, str(tmp_path / "backups" / "r.db")],
    ):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "bowerbird", *command, "--json"],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=_with_a_full_disk,
        )
        assert (done.returncode, json_error(done.stderr).code) == (2, "file_unwritable"), done.stderr
    assert list((tmp_path / "backups").iterdir()) == []
    assert len((await contents(place))["posts"]) == 5_000


async def test_a_rewriting_that_finds_no_room_changes_nothing_and_says_so(tmp_path: Path) -> None:
    place = str(tmp_path / "crawl.db")
    await filled(place, range(5_000))
    before = await contents(place)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "bowerbird", "scrub", place, "--json"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_with_a_full_disk,
    )
    assert (done.returncode, json_error(done.stderr).code) == (2, "file_unwritable"), done.stderr
    assert await contents(place) == before
    assert [path.name for path in tmp_path.glob("*.unfinished*")] == []  # noqa: ASYNC240
