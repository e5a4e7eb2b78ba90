"""The tables and views of a store, and the version that they have.

`schema/sqlite.sql` and `schema/postgresql.sql` define the same tables; `schema/views.sql` defines the views of both. There is one
version. A store of another version is refused, never changed.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from pathlib import Path

from bowerbird.db.sqlite.millions import tell_planner
from bowerbird.errors import StoreError
from bowerbird.model import to_micros
from bowerbird.ports import Database, Transaction

SCHEMA_VERSION = 1

_WORDS = {
    "sqlite": {"json": "text", "json_object": "json_object", "real": "real", "bytewise": "collate binary"},
    "postgresql": {
        "json": "json",
        "json_object": "json_build_object",
        "real": "double precision",
        "bytewise": 'collate "C"',
    },
}
_FORMS = {
    "sqlite": {
        # Before 1970 the remainder is negative, so it is shifted into 0 to 999,999 first.
        "time": "strftime('%Y-%m-%dT%H:%M:%S', ({0} - ({0} % 1000000 + 1000000) % 1000000) / 1000000, "
        "'unixepoch') || printf('.%06dZ', ({0} % 1000000 + 1000000) % 1000000)",
        "texts": "json_group_array({0})",
    },
    "postgresql": {
        "time": "to_char(timestamp '1970-01-01' + {0} / 1000000 * interval '1 second' "
        "+ {0} % 1000000 * interval '1 microsecond', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
        "texts": "'[' || coalesce(string_agg(cast(to_json({0}) as text), ','), '') || ']'",
    },
}
"""Forms with a column, as in `{time p.created_at}`: a time as `2026-03-01T12:00:00.000000Z`, and texts as a JSON list."""
_FORM = re.compile(r"\{(\w+) ([\w.]+)\}")
_TABLES = {
    "sqlite": "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    "postgresql": "select tablename as name from pg_tables where schemaname = current_schema()",
}


@cache
def schema_statements(dialect: str) -> tuple[str, ...]:
    """Return the statements that create the tables and views of a store."""
    folder = Path(__file__).with_name("schema")
    views = (folder / "views.sql").read_text(encoding="utf-8")
    for word, spelling in _WORDS[dialect].items():
        views = views.replace("{" + word + "}", spelling)
    views = _FORM.sub(lambda form: _FORMS[dialect][form[1]].format(form[2]), views)
    script = (folder / f"{dialect}.sql").read_text(encoding="utf-8") + views
    bare = re.sub(r"--[^\n]*", "", script)
    return tuple(statement.strip() for statement in bare.split(";") if statement.strip())


async def create_tables(tx: Transaction, dialect: str, now: datetime) -> None:
    """Create the tables of a new store. Leave a store of this version as it is, and refuse any other database."""
    tables = {row["name"] for row in await tx.fetch(_TABLES[dialect])}
    if {"crawls", "schema_version"} <= tables:
        row = await tx.fetch_one("select max(version) as version from schema_version")
        check_version(row["version"] if row else None)
    elif "crawls" in tables or (tables and dialect == "sqlite"):
        # A PostgreSQL database may have tables of other programs beside ours.
        check_version(None)
    else:
        for statement in schema_statements(dialect):
            await tx.execute(statement)
        await tx.execute("insert into schema_version (version, created_at) values (?, ?)", SCHEMA_VERSION, to_micros(now))
    if dialect == "sqlite":
        await tell_planner(tx)


async def is_store(database: Database, name: str = "The database") -> bool:
    """Return whether a database is a store. Raise `StoreError` for a store of another version. Nothing is changed."""
    async with database.reading() as tx:
        tables = {row["name"] for row in await tx.fetch(_TABLES[database.dialect])}
        if not {"crawls", "schema_version"} <= tables:
            return False
        row = await tx.fetch_one("select max(version) as version from schema_version")
    check_version(row["version"] if row else None, name)
    return True


async def check_store(database: Database, name: str) -> None:
    """Raise `StoreError` unless a database is a store of this version."""
    if not await is_store(database, name):
        check_version(None, name)


def check_version(version: int | None, name: str = "The database") -> None:
    """Raise `StoreError` unless `version` is the one that this bowerbird reads and writes. None: not a store at all."""
    if version is None:
        raise StoreError(
            f"{name} is not a bowerbird store.",
            "Name the database of a crawl, or a new file.",
            code="not_a_store",
        )
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{name} has schema version {version}; this bowerbird needs version {SCHEMA_VERSION}.",
            "Use the bowerbird version that created it, or start the crawl in a new database.",
            code="wrong_version",
        )
