"""Of which version a store is, read without changing it or waiting for whoever writes it."""

from __future__ import annotations

from bowerbird.db.migrate import newest as newest
from bowerbird.ports import Database

_CATALOGUES = {"sqlite": "sqlite_master where type = 'table' and name", "postgresql": "pg_tables where tablename"}


async def version_of(database: Database) -> int | None:
    """The version of a store; None for a database that is none."""
    async with database.reading() as tx:
        row = await tx.fetch_one(f"select count(*) as found from {_CATALOGUES[database.dialect]} in ('crawls', 'migrations')")
        if row is None or row["found"] < 2:
            return None
        row = await tx.fetch_one("select max(version) as version from migrations")
    return int(row["version"] or 0) if row else 0
