"""Connections, transactions and numbered migrations; nothing about crawling."""

from __future__ import annotations

from bowerbird.db.postgres import PostgresDatabase
from bowerbird.db.sqlite import SqliteDatabase
from bowerbird.ports import Clock, Database


async def open_database(where: str, clock: Clock) -> Database:
    """Opens `:memory:`, a SQLite file, or `postgresql://…`; the caller migrates it and closes it."""
    if where.startswith(("postgresql://", "postgres://")):
        return await PostgresDatabase.open(where, clock)
    return SqliteDatabase.open(where, clock)


__all__ = ["PostgresDatabase", "SqliteDatabase", "open_database"]
