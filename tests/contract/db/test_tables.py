"""The schema of both databases, and the version check."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.files.backup import restore
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.sqlite.short_columns import read
from bowerbird.db.tables import SCHEMA_VERSION, is_store, schema_statements
from bowerbird.errors import StoreError
from bowerbird.ports import Database

ONLY_SQLITE = {"highest_numbers", "relation_history.change_no"}
"""Tables and columns that PostgreSQL has by itself: it remembers numbers in sequences, and gives every row an address."""


async def columns(database: Database) -> set[str]:
    query = {
        "sqlite": "select m.name as table_name, c.name as column_name from sqlite_master m, pragma_table_xinfo(m.name) c "
        "where m.type in ('table', 'view') and m.name not like 'sqlite_%'",
        "postgresql": "select table_name, column_name from information_schema.columns where table_schema = current_schema()",
    }[database.dialect]
    async with database.reading() as tx:
        return {f"{row['table_name']}.{read(row['column_name'])}" for row in await tx.fetch(query)}


async def test_schemas_of_both_databases_have_the_same_columns(postgres_url: str) -> None:
    found = {}
    for where in (":memory:", postgres_url):
        database = await open_database(where, RealClock())
        await database.create_tables()
        found[database.dialect] = await columns(database)
        await database.close()
    different = found["sqlite"] ^ found["postgresql"]
    assert {each for each in different if not {each, each.split(".")[0]} & ONLY_SQLITE} == set()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_schema_statements_have_no_unreplaced_words(dialect: str) -> None:
    assert not [text for text in schema_statements(dialect) if re.search(r"\{[a-z_]+( [a-z_.]+)?\}", text)]


async def test_create_tables_twice_changes_nothing(database: Database) -> None:
    before = await columns(database)
    await database.create_tables()
    assert await columns(database) == before
    async with database.reading() as tx:
        assert [row["version"] for row in await tx.fetch("select version from schema_version")] == [SCHEMA_VERSION]


async def test_create_tables_by_two_processes_at_once_creates_them_once(postgres_url: str) -> None:
    databases = [await open_database(postgres_url, RealClock()) for _ in range(2)]
    await asyncio.gather(*(database.create_tables() for database in databases))
    async with databases[0].reading() as tx:
        assert len(await tx.fetch("select version from schema_version")) == 1
    for database in databases:
        await database.close()


async def test_create_tables_other_version_is_refused(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("update schema_version set version = ?", SCHEMA_VERSION + 1)
    with pytest.raises(StoreError):
        await database.create_tables()
    with pytest.raises(StoreError):
        await is_store(database)


async def test_create_tables_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite_module().connect(path)
    connection.execute("create table recipes (name text)")
    connection.close()
    database = await open_database(str(path), RealClock())
    assert not await is_store(database)
    with pytest.raises(StoreError):
        await database.create_tables()
    async with database.reading() as tx:
        assert [row["name"] for row in await tx.fetch("select name from sqlite_master")] == ["recipes"]
    await database.close()


async def test_create_tables_postgresql_with_tables_of_another_program_are_added(postgres_url: str) -> None:
    database = await open_database(postgres_url, RealClock())
    async with database.transaction() as tx:
        await tx.execute("create table recipes (name text)")
    await database.create_tables()
    assert await is_store(database)
    await database.close()


async def test_restore_backup_of_another_version_is_refused(tmp_path: Path) -> None:
    backup, target = tmp_path / "backup.db", tmp_path / "new.db"
    database = await open_database(str(backup), RealClock())
    await database.create_tables()
    async with database.transaction() as tx:
        await tx.execute("update schema_version set version = ?", SCHEMA_VERSION + 1)
    await database.close()
    with pytest.raises(StoreError):
        await restore(backup, str(target), RealClock())
    assert not target.exists()
