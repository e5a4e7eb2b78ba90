"""The files of a store, of either database, and of its log: what a thief of the disk would read."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg

_TURNS = 4
"""How often PostgreSQL is made to begin a new piece of its log, until none is left from before (docs/operations.md)."""


async def store_files(store: str) -> list[Path]:
    """SQLite: the file and its log. PostgreSQL: the database's own files after a checkpoint, and the server's log."""
    if "://" not in store:
        return [Path(store), Path(f"{store}-wal")]
    connection = await asyncpg.connect(store)
    try:
        await connection.execute("alter system set wal_recycle = off")
        await connection.execute("select pg_reload_conf()")
        for _ in range(_TURNS):
            await connection.execute("select pg_switch_wal()")
            await connection.execute("checkpoint")
        number = await connection.fetchval("select oid from pg_database where datname = current_database()")
    finally:
        await connection.close()
    data = Path(re.findall(r"host=([^&]+)", store)[0]) / "data"
    return [path for folder in (data / "base" / str(number), data / "pg_wal") for path in folder.rglob("*")]
